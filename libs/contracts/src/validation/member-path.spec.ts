import { memberPath } from './member-path';

describe(memberPath.name, () => {
  it.each([
    ['', 'name', 'name'],
    ['policy', 'zdr', 'policy.zdr'],
    ['', 'zdr ', '["zdr "]'],
    ['policy', 'nаme', String.raw`policy["n\u0430me"]`],
    ['', 'a\nb"c', String.raw`["a\nb\"c"]`],
    ['', '\u007f\ud800', String.raw`["\u007f\ud800"]`],
    ['', '', '[""]'],
    ['', 'n'.repeat(40), 'n'.repeat(40)],
    ['', 'n'.repeat(41), `["${'n'.repeat(20)}..."]`],
    ['', 'é'.repeat(1_000_000), `["${String.raw`\u00e9`.repeat(20)}..."]`],
  ])('of %j and %.20j is short ASCII', (parent, name, path) => {
    expect(memberPath(parent, name)).toBe(path);
  });
});
