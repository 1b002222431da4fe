/** The stylesheet of the consent page. Its colours have a contrast of at least 4.5 to 1 in both colour schemes. */
export const STYLE = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #4b5563; --back: #f4f5f7; --card: #fff; --line: #8a919c; --strong: #0b57d0; --on-strong: #fff; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --text: #e8eaed; --soft: #b6bcc6; --back: #16181c; --card: #202328; --line: #868d98; --strong: #a8c7fa; --on-strong: #0b1f3d; --bad: #f2b8b5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 32rem; margin: 2rem auto; padding: 1.5rem; background: var(--card); border-radius: .75rem; }
h1 { margin: 0 0 1rem; font-size: 1.4rem; line-height: 1.3; overflow-wrap: anywhere; }
.service { margin: 0 0 1rem; color: var(--soft); font-weight: 600; }
dt { color: var(--soft); } dd { margin: 0 0 .75rem; overflow-wrap: anywhere; font-weight: 600; }
label { display: block; margin-top: 1rem; font-weight: 600; }
.hint { margin: 0; color: var(--soft); font-size: .9rem; }
input, select { width: 100%; margin-top: .25rem; padding: .6rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--card); color: var(--text); font: inherit; }
button { margin: 1.25rem .5rem 0 0; padding: .6rem 1.25rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--card); color: var(--text); font: inherit; font-weight: 600; cursor: pointer; }
button.main { border-color: var(--strong); background: var(--strong); color: var(--on-strong); }
:focus-visible { outline: 3px solid var(--strong); outline-offset: 2px; }
a { color: var(--strong); }
.problem { padding: .75rem; border: 1px solid var(--bad); border-radius: .4rem; color: var(--bad); }
code { display: block; padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; overflow-wrap: anywhere; user-select: all; }
`;
