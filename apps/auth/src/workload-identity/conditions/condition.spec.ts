import { readClaims } from '../claims';
import { compileCondition, meetsCondition } from './condition';

const CLAIMS = readClaims(
  Buffer.from(
    JSON.stringify({
      sub: 'repo:acme/app:ref:refs/heads/main',
      ref: 'refs/heads/main',
      run_number: 12,
      groups: ['dev', 'ops'],
      verified: true,
      weight: 0.5,
      empty: [],
      nothing: null,
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
    ["claims['ref'] == 'refs/heads/main' && claims.groups[1] == \"ops\"", true],
    ['!claims.verified || claims.run_number in [1, 12]', true],
    ['claims.weight > -1.5 && claims.weight < 1 && claims.run_number == 12.0', true],
    ['size(claims.groups) == 2 && claims.ref.size() == 15 && size(claims["kubernetes.io"]) == 2', true],
    ['claims.groups == ["dev", "ops"] && claims.groups != ["ops", "dev"]', true],
    ['claims.ref.upperAscii().endsWith("/MAIN") && " \\ta ".trim() == "a"', true],
    ['claims.groups.exists_one(g, g == "ops") && claims.empty.all(g, g == "x")', true],
    ['has(claims.nothing) && claims.nothing == null', true],
    ['"namespace" in claims["kubernetes.io"]', true],
    ['claims.environment == "prod" || claims.verified', true],
    ['claims.verified || claims.environment == "prod"', true],
    ['claims.environment == "prod" && false || claims.verified', true],
    ['(claims.ref == "a" || claims.verified) && (true)', true],
    ['!(claims.environment == "prod")', false],
    ['claims.environment != "prod"', false],
    ['claims.verified == 1 || claims.run_number == "12"', false],
    ['claims.groups[2] == "x" || claims.groups[-1] == "x" || claims.groups[0.5] == "x"', false],
    ['claims.ref < 3', false],
    ['claims.ref && true', false],
    ['has(claims.ref.length) || has(claims.groups.length)', false],
    ['claims.groups.all(g, g)', false],
    ['claims["kubernetes.io"].all(g, true)', false],
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
    ['a character of another language', 'claims.sub == `a`'],
    ['a text without an end', 'claims.sub == "a'],
    ['an unknown escape', 'claims.sub == "\\q"'],
    ['a number that is not exact', 'claims.id == 12345678901234567890'],
    ['a number of another kind', 'claims.id == 1u'],
    ['a sum', 'claims.a + claims.b == 1'],
    ['two comparisons in a row', '1 < claims.a < 3'],
    ['a text that is compared by its order', 'claims.sub < "b"'],
    ['a member of a text', '"a".b == 1'],
    ['a search in a number', '(1).contains("a")'],
    ['a loop over a text', '"abc".all(c, c == "a")'],
    ['an element named like claims', 'claims.groups.all(claims, claims == "a")'],
    ['a question for something else than a member', 'has(claims["a"])'],
    ['an object', '{"a": 1} == claims.a'],
    ['a choice', 'claims.a ? claims.b : claims.c'],
    ['something behind its end', 'claims.a == 1 claims.b'],
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
    ['too long a list', `claims.sub in [${'"a",'.repeat(64)}"b"]`],
  ])('refuses %s', (_what, text) => {
    expect(() => compileCondition(text)).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringMatching(/^condition /) }),
    );
  });

  it('names the place of a mistake', () => {
    expect(() => compileCondition('claims.a == 1 &&& claims.b')).toThrow(
      'condition has a character that conditions do not use (character 17)',
    );
  });

  it('is not met where the claims need too much work, whatever else holds', () => {
    const text = 'a'.repeat(8_000);
    const claims = { list: Array<string>(400).fill(text), b: `${'a'.repeat(2_000)}b` };
    const search = 'claims.list.exists(t, t.contains("aab"))';
    expect(compileCondition(`${search} || true`)({ ...claims, list: [text] })).toBe(true);
    expect(compileCondition(`${search} || true`)(claims)).toBe(false);
    expect(compileCondition(`true || ${search}`)(claims)).toBe(true);
  });

  it.each([
    ['errors that || gets over', `claims.list.all(e, ${'e || '.repeat(97)}true)`, { list: Array(500).fill(0) }],
    [
      'the parts that an error leaves',
      `claims.list.all(e, e${'.trim()'.repeat(188)} == "" || true)`,
      { list: Array(505).fill(0) },
    ],
    ['members that are not there', `claims.list.all(e, ${'e.x || '.repeat(40)}true)`, { list: Array(500).fill({}) }],
    [
      'names of objects',
      `claims.list.all(e, ${'size(e) >= 0 && '.repeat(30)}true)`,
      { list: Array(60).fill(Object.fromEntries(Array.from({ length: 490 }, (_, at) => [`${at}`, 0]))) },
    ],
  ])('counts %s', (_what, text, claims) => {
    const condition = compileCondition(text);
    expect(condition({ list: claims.list.slice(0, 2) })).toBe(true);
    expect(condition(claims)).toBe(false);
  });

  it('trims all white space of Unicode', () => {
    expect(compileCondition('claims.a.trim() == "a"')({ a: '\u00a0\u2003a\u3000\u0085' })).toBe(true);
  });

  // What other evaluators of this language take for equal.
  it.each([
    ['claims.user.lowerAscii() == "kim"', '{"user":"\u212Aim"}'],
    ['claims.user.upperAscii() == "ADMIN"', '{"user":"adm\u0131n"}'],
    ['claims.email.upperAscii().endsWith("@FFI.COM")', '{"email":"eve@\uFB03.com"}'],
    ['claims.a == claims.b', '{"a":{"__proto__":{}},"b":{"team":"ops"}}'],
    ['claims.a in [claims.b]', '{"a":{"__proto__":{}},"b":{"team":"ops"}}'],
    ['claims.a.team == "ops"', '{"a":{"__proto__":{"team":"ops"}}}'],
    ['claims.id == claims.id2', '{"id":9007199254740993,"id2":9007199254740992}'],
    ['claims.t > 16.0', '{"t":1e400}'],
    ['claims.t.trim() == "a"', '{"t":"\uFEFFa"}'],
    ['claims.g.all(g, g == "ops")', '{"g":{"ops":1}}'],
    ['"x" in claims.g', '{"g":{"constructor":1}}'],
    ['"constructor" in claims.g', '{"g":{}}'],
  ])('%s is false of %s', (text, token) => {
    expect(compileCondition(text)(readClaims(Buffer.from(token))!)).toBe(false);
  });

  it('compares objects by all of their members', () => {
    const same = readClaims(
      Buffer.from('{"a":{"x":[1,{"y":null}],"__proto__":1},"b":{"__proto__":1,"x":[1,{"y":null}]}}'),
    )!;
    expect(compileCondition('claims.a == claims.b')(same)).toBe(true);
    const other = readClaims(Buffer.from('{"a":{"x":[1,{"y":null}]},"b":{"x":[1,{"z":null}]}}'))!;
    expect(compileCondition('claims.a == claims.b')(other)).toBe(false);
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
