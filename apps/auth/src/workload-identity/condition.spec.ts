import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readClaims } from './claims';
import { compileCondition, meetsCondition } from './condition';

const CLAIMS = readClaims(
  Buffer.from(
    JSON.stringify({
      sub: 'repo:acme/app:ref:refs/heads/main',
      ref: 'refs/heads/main',
      run_number: 12,
      groups: ['dev', 'ops'],
      verified: true,
      'kubernetes.io': { namespace: 'prod', serviceaccount: { name: 'worker' } },
    }),
  ),
)!;

describe(compileCondition.name, () => {
  it.each([
    ['claims.sub.startsWith("repo:acme/")', true],
    ['claims.ref == "refs/heads/main" && claims.run_number >= 10', true],
    ['claims["kubernetes.io"].namespace == "prod"', true],
    ['claims["kubernetes.io"].serviceaccount.name in ["worker", "other"]', true],
    ['"ops" in claims.groups', true],
    ['claims.groups.exists(g, g.startsWith("op"))', true],
    ['claims.groups.filter(g, g != "dev").all(g, g == "ops")', true],
    ['has(claims.environment) && claims.environment == "prod"', false],
    ['claims.verified', true],
    ['claims.run_number + 1.0 == 13.0 && claims.ref + "!" == "refs/heads/main!"', true],
    ['claims.sub', false],
    ['claims.ref == "refs/heads/Main"', false],
    ['claims.environment == "prod"', false],
    ['claims.run_number.startsWith("1")', false],
    ['claims.constructor == "x" || has(claims.toString)', false],
  ])('%s is %p', (text, expected) => {
    expect(compileCondition(text)(CLAIMS)).toBe(expected);
  });

  it.each([
    ['no expression', 'claims.sub =='],
    ['nothing', ' '],
    ['a text', '"true"'],
    ['a number', '1 + 1'],
    ['a name that nobody knows', 'sub == "a"'],
    ['a function that nobody knows', 'claims.sub.run()'],
    ['a regular expression', 'claims.sub.matches("^(a+)+$")'],
    ['a regular expression in a loop', 'claims.groups.all(g, g.matches("a"))'],
    ['a bound name', 'cel.bind(x, claims.sub, x == "a")'],
    ['a loop within a loop', 'claims.groups.all(g, claims.groups.exists(h, h == g))'],
    ['a loop in the list of a loop in a loop', 'claims.groups.all(g, g.filter(h, true).size() > 0)'],
    ['a loop that sees more than its element', 'claims.groups.all(g, g in claims.groups)'],
    ['a list that grows', 'claims.groups.map(g, g + g).size() > 0'],
    ['a duration, which is read in cubic time', 'duration(claims.ref) == duration("1h")'],
    ['a list of letters', 'claims.sub.split("").all(letter, letter == "a")'],
    ['too many characters', `claims.sub == "${'a'.repeat(2_000)}"`],
    ['too deep an expression', `${'('.repeat(30)}true${')'.repeat(30)}`],
    ['too large an expression', Array.from({ length: 80 }, () => 'claims.a').join(' && ')],
    ['a search in a sum of texts', '(claims.a + claims.a).contains(claims.b)'],
    ['a search for a sum of texts', 'claims.a.contains(claims.b + claims.b)'],
    ['a search in a list of sums', '[[claims.a + claims.a, claims.b]].exists(p, p[0].contains(p[1]))'],
    ['a search in an object of sums', '[{"a": claims.a + claims.a}].exists(p, p.a.contains("b"))'],
    ['a loop over a sum', '(claims.groups + claims.groups).exists(g, g == "a")'],
    ['a sum in a function in a loop', 'claims.groups.all(g, size(g + g) > 1)'],
    ['lists too deep in lists', '[[[[1]]]] == claims.a'],
    ['too long a list', `claims.sub in [${'"a",'.repeat(64)}"b"]`],
  ])('refuses %s', (_what, text) => {
    expect(() => compileCondition(text)).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringMatching(/^condition /) }),
    );
  });

  it('is not met when its evaluation takes too long', () => {
    const searches = Array.from({ length: 24 }, () => 'claims.a.contains(claims.b)').join(' || ');
    const claims = { a: 'a'.repeat(8_000), b: `${'a'.repeat(2_000)}b${'a'.repeat(1_000)}` };
    expect(compileCondition(`${searches} || true`, 60_000)(claims)).toBe(true);
    expect(compileCondition(`${searches} || true`, 1)(claims)).toBe(false);
  });
});

describe(meetsCondition.name, () => {
  it('reads a stored condition', () => {
    expect(meetsCondition('claims.run_number == 12', CLAIMS)).toBe(true);
    expect(meetsCondition('claims.run_number == 13', CLAIMS)).toBe(false);
  });

  it('is false for one that was stored when it was allowed', () => {
    const digits = { ref: '1'.repeat(6_000) };
    expect(meetsCondition('duration(claims.ref) == duration("1h") || true', digits)).toBe(false);
  });
});

describe('the memory of conditions', () => {
  const MIB = 1024 * 1024;
  const MOST_DEPTH = 8;
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;

  function growthOf(rounds: number, work: (round: number) => void): number {
    for (let round = 0; round < rounds; round += 1) work(round);
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let round = rounds; round < 2 * rounds; round += 1) work(round);
    collect();
    return process.memoryUsage().heapUsed - before;
  }

  it('does not grow with the forms of claims', () => {
    const condition = compileCondition('claims.a == claims.b || claims.a in [claims.b] || size(claims.a) > 1');
    const nested = (form: number): unknown => {
      let value: unknown = 'a';
      for (let depth = 0; depth < MOST_DEPTH; depth += 1) value = (form >> depth) % 2 === 0 ? [value] : { k: value };
      return value;
    };
    const judge = (round: number): void => void condition({ a: nested(round), b: nested(round * 48_271) });
    expect(growthOf(2_000, judge)).toBeLessThan(5 * MIB);
  });

  it('does not grow with the names and types in conditions that are refused', () => {
    const refuse = (text: string): void => expect(() => compileCondition(text)).toThrow();
    const grown = growthOf(300, (round) => {
      refuse(Array.from({ length: 60 }, (_, index) => `f${round}x${index}()`).join(' + '));
      refuse(`${'[{"a":'.repeat(8)}${round}${'}]'.repeat(8)} == 1`);
    });
    expect(grown).toBeLessThan(5 * MIB);
  });
});
