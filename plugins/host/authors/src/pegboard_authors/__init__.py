"""Commands for authors and teams: `pegboard new`, `pegboard check`, `pegboard build`."""
