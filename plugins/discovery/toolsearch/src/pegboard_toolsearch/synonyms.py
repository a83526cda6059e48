"""Words that people use for the same thing when they look for a tool."""

from __future__ import annotations

from pegboard_toolsearch.words import stem

GROUPS = """
access permission
account user member person people
address location geocode
analyze analysis inspect examine evaluate
appointment booking reservation reserve
average mean
begin start launch
birthday birth
book novel
browser web browse
bug error exception defect
business company organization firm enterprise
buy purchase shop order shopping
calculate compute calculator math arithmetic
calendar schedule event meeting agenda
cancel stop abort terminate kill end
category type kind
chart graph plot diagram visualization visualize
chat message conversation
check verify validate test
climate weather forecast temperature
code program script
coin crypto cryptocurrency bitcoin
command shell terminal process execute
comment reply note remark
compare comparison difference diff
configuration config setting preference
convert conversion transform
cost price quote fare fee
coupon discount deal promo voucher
create add make new insert generate
customer client
database db sql table
date time clock
define definition meaning dictionary
delete remove erase drop clear trash
dialog prompt popup
direction route navigation navigate
directory folder
distance far
docx word
document doc file
domain whois dns
download export
edit update modify change set patch
electronics product gadget
email mail inbox
environment env
exercise workout fitness
exchange currency forex
execute run launch invoke start
fetch get retrieve obtain download
film movie cinema
flight airline airplane airport
food restaurant dining meal
game gaming
generate create produce make
health medical doctor medicine
home house property apartment
hotel accommodation lodging stay homestay
image picture photo
import upload
instant realtime live
invoice bill payment pay
issue ticket bug
job career employment vacancy
label tag
language translate translation
law legal
link url
list show enumerate
log logging
lookup search find query discover
map location place
markdown md
monitor track watch
music song track audio
nearby near around
news headline article story
paper publication research academic
password credential
pdf document paper
presentation slide ppt powerpoint
pull pr merge
quiz question
rail train railway
rank ranking leaderboard top
rate rating review
recipe cook meal dish
recommend suggest recommendation suggestion
repository repo
resume cv
rollback revert undo
save write store
scrape crawl extract fetch
screenshot capture
see view show display read
send post deliver
share stock equity ticker
sheet spreadsheet excel xlsx worksheet
site website webpage page url web
sort order
sport match team
summarize summary abstract
talk call phone
text string
trend trending popular hot
trip travel itinerary vacation tour
variable var
video youtube
zip compress archive
"""
"""Each line is a group; a word may be in several."""


def _table() -> dict[str, tuple[str, ...]]:
    table: dict[str, dict[str, None]] = {}
    for line in GROUPS.split("\n"):
        group = [stem(word) for word in line.split()]
        for word in group:
            table.setdefault(word, {}).update(dict.fromkeys(other for other in group if other != word))
    return {word: tuple(others) for word, others in table.items()}


SYNONYMS = _table()
"""The synonyms of each term, as terms."""
