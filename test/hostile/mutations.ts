import { CANARY } from '../e2e/refusals';

/** A JSON value, at a place in a body. */
type Place = readonly (string | number)[];

/** Draws from lists; the same numbers for the same seed (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!;
  }
}

const deep = (depth: number): unknown => {
  let value: unknown = CANARY;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};

/** Written as a number that no double can represent, which `JSON.stringify` cannot write. */
const BEYOND_DOUBLE = 'number beyond a double';

const ODD_VALUES: readonly unknown[] = [
  BEYOND_DOUBLE,
  [BEYOND_DOUBLE],
  null,
  true,
  0,
  -1,
  0.5,
  1e308,
  2 ** 53 + 2,
  '',
  ' ',
  CANARY,
  'x'.repeat(70_000),
  '\u0000',
  '\ud800',
  '‮' + CANARY,
  '__proto__',
  "'; DROP TABLE api_keys; --",
  '{{7*7}}',
  '../../etc/passwd',
  'http://169.254.169.254/latest',
  'file:///etc/passwd',
  '00000000-0000-4000-8000-000000000000',
  [],
  {},
  [[]],
  [null],
  [{}],
  { $ne: null },
  { toString: CANARY },
  Array.from({ length: 2_000 }, (_, at) => at),
  Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`m${at}`, at])),
  deep(40),
  deep(200),
];

const ODD_SEGMENTS: readonly string[] = [
  '%00',
  '%ff',
  '%2e%2e%2f',
  '..%2f..',
  '%27%20OR%201=1',
  'x'.repeat(3_000),
  '%F0%9F%98%80',
  '00000000-0000-4000-8000-000000000000',
  'batch_0000000000000000000000000',
  'a'.repeat(64),
  '%7B%7D',
  '0',
  '-1',
  'daily',
  'undefined',
];

const ODD_QUERIES: readonly string[] = [
  '',
  '?',
  '?limit=-1',
  '?limit=1e9',
  '?limit[]=1',
  '?offset=99999999999999999999',
  '?cursor=%00',
  '?after=' + 'x'.repeat(2_000),
  '?id=%27%3B--',
  '?id=gen-1&id=gen-2',
  '?workspace_id=x',
  '?__proto__[a]=1',
  '?results=maybe',
  '?supported_parameters=' + 'a,'.repeat(500),
  '?sort=price&order=%F0%9F%98%80',
  '?status=completed,failed,%00',
  '?created_after=-99999999999',
  '?%FF=%FE',
];

/** Returns a path with its parameters replaced by ids or odd segments, and in half of the cases an odd query. */
export function oddPath(path: string, ids: readonly string[], dice: Dice): string {
  const filled = path.replaceAll(/\{[a-z]+\}/g, () => dice.of(dice.below(2) === 0 ? ids : ODD_SEGMENTS));
  return filled + (dice.below(2) === 0 ? dice.of(ODD_QUERIES) : '');
}

function placesIn(value: unknown, place: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [place];
  const inner = Object.entries(value).flatMap(([name, one]) =>
    placesIn(one, [...place, Array.isArray(value) ? Number(name) : name]),
  );
  return [place, ...inner];
}

function holderOf(body: unknown, place: Place): Record<string | number, unknown> {
  let holder = body as Record<string | number, unknown>;
  for (const step of place.slice(0, -1)) holder = holder[step] as Record<string | number, unknown>;
  return holder;
}

/** Returns a copy of a body in which one to three places are replaced, removed or added to. */
export function mutatedBody(body: Readonly<Record<string, unknown>>, dice: Dice): unknown {
  let changed: unknown = structuredClone(body);
  for (let times = 1 + dice.below(3); times > 0; times -= 1) {
    const place = dice.of(placesIn(changed));
    const last = place.at(-1);
    if (last === undefined) {
      if (dice.below(8) === 0) changed = structuredClone(dice.of(ODD_VALUES));
      else if (isPlainObject(changed)) changed[dice.of(['unknown', 'constructor', '__proto__'])] = 1;
    } else {
      const holder = holderOf(changed, place);
      if (dice.below(5) === 0) delete holder[last];
      else holder[last] = structuredClone(dice.of(ODD_VALUES));
    }
    if (!isPlainObject(changed)) break;
  }
  return changed;
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns JSON, or in one of 12 cases bytes that are nearly JSON. */
export function writtenBody(body: unknown, dice: Dice): Buffer {
  const json = (JSON.stringify(body) ?? '').replaceAll(`"${BEYOND_DOUBLE}"`, '1e400');
  switch (dice.below(36)) {
    case 0:
      return Buffer.from(json.slice(0, Math.floor(json.length / 2)));
    case 1:
      return Buffer.from(`${json}${json}`);
    case 2:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(json)]);
    default:
      return Buffer.from(json);
  }
}
