/** The style sheet of an exported page. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1c2026; --dim: #667080; --ground: #fbfbfa; --card: #ffffff; --line: #e3e5e8;
  --user: #eef3fb; --good: #1d7a45; --bad: #b3372e; --good-ground: #e9f6ee; --bad-ground: #fbecea; --accent: #2f5fb3; }
@media (prefers-color-scheme: dark) { :root { --ink: #dfe3e8; --dim: #8b95a3; --ground: #15181c; --card: #1c2025;
  --line: #2d333b; --user: #1d2a3d; --good: #6cc793; --bad: #ef8d85; --good-ground: #17301f; --bad-ground: #3a1f1d; --accent: #8db3f0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.6 system-ui, sans-serif; }
main, header { max-width: 54rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; padding-bottom: 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
dl { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: .75rem 0 0; color: var(--dim); font-size: .85rem; }
dt { display: inline; } dt::after { content: ": "; } dd { display: inline; margin: 0; color: var(--ink); }
article { margin: 0 0 1rem; padding: .75rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
article.user { background: var(--user); }
article h2 { margin: 0 0 .35rem; font-size: .75rem; font-weight: 600; letter-spacing: .04em; text-transform: uppercase; color: var(--dim); }
article h2 time { float: right; font-weight: 400; letter-spacing: 0; text-transform: none; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { margin: .5rem 0 0; padding: .6rem .75rem; overflow-x: auto; background: var(--ground); border: 1px solid var(--line); border-radius: .4rem;
  font: 12.5px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin-top: .5rem; } summary { cursor: pointer; color: var(--accent); }
summary code { font: 12.5px ui-monospace, monospace; color: var(--ink); } summary .failed { color: var(--bad); }
details.thinking .text { color: var(--dim); font-style: italic; }
.added { display: block; color: var(--good); background: var(--good-ground); } .removed { display: block; color: var(--bad); background: var(--bad-ground); }
.same { display: block; } .error { color: var(--bad); } img { max-width: 100%; border-radius: .4rem; margin-top: .5rem; }
footer { max-width: 54rem; margin: 2rem auto 3rem; padding: 0 1.25rem; color: var(--dim); font-size: .8rem; }
`;
