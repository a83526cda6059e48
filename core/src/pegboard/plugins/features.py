"""What is switched off, and by whom. Every layer of settings can only take away from the one above it."""

from __future__ import annotations

from pegboard.plugins.builtin import ALIASES, BY_FULL_NAME, FAMILIES, OWNERS, PLUGINS, is_builtin, normalise, owner_of
from pegboard.settings import Notice, Settings
from pegboard.wording import did_you_mean, slip
from pegboard_settings import OF_THE_OWNER, ORDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard.records import PluginName, PluginRecord, ScanRecord


class Features:
    """The switches of one set of settings. `off()` and `tool_off()` answer with the reason, or None for on."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.disable = [(word, layer.name, layer.source_of("disable")) for word, layer in settings.items("disable")]
        self.only = [(layer.values["only"], layer.source_of("only")) for layer in settings.holders("only")]
        self.safe_mode = bool(settings.get("safeMode"))

    def off(self, plugin: PluginName | PluginRecord) -> str | None:
        """Why this plugin must not be imported. Asked before anything of it is."""
        holds_tools = plugin["family"] not in BY_FULL_NAME
        for word, layer, source in self.disable:
            if word == plugin["entry"] or normalise(word) == normalise(plugin["dist"]):
                if not self._is_guarded(plugin, layer):
                    return f"{word} is disabled by {source}."
            elif holds_tools and word == plugin["family"]:
                return f"The family {word} is disabled by {source}."
        if not holds_tools:
            return None
        if self.safe_mode and not is_builtin(plugin["dist"], plugin["entry"]):
            return "Safe mode loads built-in plugins only."
        for words, source in self.only:
            if not any(self._chooses(word, plugin) for word in words):
                chosen = ", ".join(words) or "nothing"
                return f"The family {plugin['family']} is not among those chosen by {source}: {chosen}."
        return None

    def tool_off(self, name: str, plugin: PluginName) -> str | None:
        """Why one tool of an enabled plugin is switched off."""
        for word, _, source in self.disable:
            if name in (word, ALIASES.get(word)):
                return f"{name} is disabled by {source}."
        for words, source in self.only:
            chosen = {*words, *(ALIASES.get(word, word) for word in words)}
            if name not in chosen and not any(self._covers(word, plugin) for word in words):
                return f"{name} is not among those chosen by {source}: {', '.join(words)}."
        return None

    def refusals(self, plugins: Iterable[PluginRecord]) -> list[Notice]:
        """Attempts to switch off a guard from a layer below the one that configured it, or a whole guard family."""
        notices = []
        for word, layer, source in self.disable:
            if word in BY_FULL_NAME:
                notices.append(
                    Notice(source, f"The family {word} cannot be switched off as a whole. Name its plugins.")
                )
            for plugin in plugins:
                named = word == plugin["entry"] or normalise(word) == normalise(plugin["dist"])
                if named and self._is_guarded(plugin, layer):
                    notices.append(Notice(source, f"{word} stays on: a stronger layer of settings configures it."))
        return notices

    def unknown(self, plugins: Iterable[PluginRecord], tools: Iterable[str] = ()) -> list[Notice]:
        """Words in the switches that name nothing: a misspelt switch must not look like a working one."""
        return [notice for _, notice, _ in self._strange_words(plugins, tools)]

    def misspelt(self, plugins: Iterable[PluginRecord]) -> list[Notice]:
        """Those of the machine's owner that look like a slip: what they should switch off would stay on."""
        return [notice for layer, notice, slip in self._strange_words(plugins, ()) if slip and layer in OF_THE_OWNER]

    def _strange_words(self, plugins: Iterable[PluginRecord], tools: Iterable[str]) -> list[tuple[str, Notice, bool]]:
        """Each word that names nothing: its layer, what to say, and whether it is nearly a name of ours."""
        only = ((word, layer) for layer in self.settings.holders("only") for word in layer.values["only"])
        said = [*self.disable, *((word, layer.name, layer.source_of("only")) for word, layer in only)]
        if not said:
            return []
        dists = {dist for dist, _ in PLUGINS}
        ours = {*FAMILIES, *BY_FULL_NAME, *OWNERS, *ALIASES, *(entry for _, entry in PLUGINS), *dists}
        known = {*ours, *tools}
        for plugin in plugins:
            known |= {plugin["family"], plugin["entry"], plugin["dist"]}
            known |= {record["name"] for record in plugin["scan"]["tools"]} if plugin["scan"] else set()
            dists.add(normalise(plugin["dist"]))
        strange = []
        for word, layer, source in dict.fromkeys(said):
            if word not in known and normalise(word) not in dists:
                meant = slip(word, ours)
                hint = f" Did you mean {meant!r}?" if meant else did_you_mean(word, known)
                words = f"{word!r} names no family, plugin, distribution or tool.{hint}"
                strange.append((layer, Notice(source, words), meant is not None))
        return strange

    def _covers(self, word: str, plugin: PluginName) -> bool:
        return word in (plugin["family"], plugin["entry"]) or normalise(word) == normalise(plugin["dist"])

    def _chooses(self, word: str, plugin: PluginName | PluginRecord) -> bool:
        if self._covers(word, plugin):
            return True
        owner = owner_of(word)
        if owner or not _may_be_a_tool(word):
            return owner == (normalise(plugin["dist"]), plugin["entry"])
        scanned: ScanRecord | None = plugin.get("scan")  # type: ignore[assignment]
        return scanned is None or any(record["name"] == word for record in scanned["tools"])

    def _is_guarded(self, plugin: PluginName, layer: str) -> bool:
        """A policy plugin that a stronger layer configures is out of reach for a weaker one."""
        if plugin["family"] != "policy":
            return False
        dist, owner = normalise(plugin["dist"]), self.settings.keys.owner
        stronger = (holder for holder in self.settings.layers if ORDER.index(holder.name) < ORDER.index(layer))
        return any(owner(key) == dist for holder in stronger for key in holder.values)


def _may_be_a_tool(word: str) -> bool:
    """Whether a word may be the tool of a plugin that has not been scanned yet.

    Choosing a stranger's tool by name means looking into strangers' plugins to find it. A word in small letters is
    taken as a family, entry or distribution, so that choosing by those imports nothing else.
    """
    return "." not in word and word != word.lower()
