import fc from 'fast-check';
import { fieldPart, filePart, waveFile } from '@libs/inference/testing';
import type { HeaderLine } from './raw-http';

export type FormRoute = 'transcription' | 'video';

/** What becomes of a good form: everything about it follows from these three, so they are all that is printed. */
export interface Recipe {
  readonly route: FormRoute;
  readonly mutations: readonly MutationName[];
  readonly seed: number;
}

/** A form as it goes out. */
export interface MutatedForm {
  readonly path: string;
  /** In addition to Host and Authorization. */
  readonly headers: readonly HeaderLine[];
  readonly pieces: readonly Buffer[];
  /** What the client does behind the last piece: waits for the answer, says that it is done, or breaks off. */
  readonly ending: 'wait' | 'finish' | 'break';
}

interface Part {
  head: string;
  body: Buffer;
}

/** A form on its way: first its parts are changed, then its bytes, then how they are announced and sent. */
interface Draft {
  readonly route: FormRoute;
  boundary: string;
  contentType: string;
  parts: Part[];
  opening: string;
  /** Behind the last part; null for the delimiter that belongs there. */
  closing: string | null;
  body: Buffer;
  /** What Content-Length says: `right`, nothing, or this text. */
  length: string | null;
  headers: HeaderLine[];
  pieces: number;
  /** How many bytes are sent at all; the rest is kept back. */
  sent: number | null;
  ending: MutatedForm['ending'];
}

interface Mutation {
  /** `bytes` see the finished body, `parts` come before it, `wire` after it. */
  readonly stage: 'parts' | 'bytes' | 'wire';
  readonly apply: (draft: Draft, dice: Dice) => void;
}

/** Numbers that follow from a seed (mulberry32). */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** 0 to `below` - 1 */
  next(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }

  of<T>(values: readonly T[]): T {
    return values[this.next(values.length)]!;
  }

  between(least: number, most: number): number {
    return least + this.next(most - least + 1);
  }
}

const FILE_FIELD: Readonly<Record<FormRoute, string>> = { transcription: 'file', video: 'input_reference' };
const WAVE = waveFile(0.3);
/** The first bytes of a picture of 640 by 480 points: nobody here reads on. */
const PNG = Buffer.concat([
  Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0', 'latin1'),
  Buffer.alloc(200, 0x5a),
]);
const parts = (apply: Mutation['apply']): Mutation => ({ stage: 'parts', apply });
const bytes = (apply: Mutation['apply']): Mutation => ({ stage: 'bytes', apply });
const wire = (apply: Mutation['apply']): Mutation => ({ stage: 'wire', apply });
const aPart = ({ parts: all }: Draft, dice: Dice): Part => dice.of(all);
const disposition = (rest: string): string => `Content-Disposition: form-data${rest}`;

const DISPOSITIONS = [
  '',
  'Content-Disposition:',
  'Content-Disposition: attachment; name="model"',
  disposition(''),
  disposition(';'),
  disposition('; name'),
  disposition('; name='),
  disposition('; name="model'),
  disposition('; name="model"; name="model"'),
  disposition('; name="file"; filename="a.wav"; filename="b.wav"'),
  disposition('; name="file"; filename*=utf-8\'\'%zz'),
  disposition('; name="file"; filename*=utf-16\'\'%00a'),
  disposition(`; name="file"; filename="${'\\"'.repeat(500)}.wav"`),
  disposition('; name="model"\r\nContent-Disposition: form-data; name="user"'),
  disposition('; name="model" \r\n folded: yes'),
  disposition(';;;; name="model"'),
  'no colon at all',
  ': no name',
  'Con tent-Disposition: form-data; name="model"',
] as const;

const NAMES = [
  '',
  'model',
  'model[]',
  'model[__proto__]',
  '__proto__',
  'constructor[prototype]',
  'temperature',
  'stream',
  'provider',
  'trace[x][y]',
  'seconds',
  'size',
  'prompt',
  'n\0ul',
  'ü'.repeat(51),
  'x'.repeat(101),
  'x'.repeat(7_900),
] as const;

const VALUES = [
  Buffer.from('\0'),
  Buffer.from('a\0b'),
  Buffer.from([0xc0, 0xaf]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from('[[[[[['),
  Buffer.from(`${'['.repeat(5_000)}`),
  Buffer.from('{"order":"\\u0000"}'),
  Buffer.from('1e999'),
  Buffer.from('-0'),
  Buffer.from('\r\n\r\n--\r\n'),
  Buffer.from(' '),
  Buffer.from('\u202e\u0301'),
  Buffer.alloc(256, 0x61),
] as const;

const FILENAMES = [
  '../../etc/passwd.wav',
  'C:\\a.wav',
  'a\0.wav',
  '',
  '.wav',
  'a.wav/',
  `${'a'.repeat(1_100)}.wav`,
  'a',
];
const OTHER_TYPES = [
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary=""',
  'multipart/form-data; boundary="a\tb"',
  'multipart/form-data; boundary=other',
  'multipart/form-data; charset=utf-16; boundary=seldom-seen',
  'multipart/form-data; boundary=a; boundary=seldom-seen',
  'multipart/mixed; boundary=seldom-seen',
  'multipart/form-data boundary=seldom-seen',
  'application/json',
  'application/x-www-form-urlencoded',
  'text/plain',
];

const MUTATIONS = {
  nothing: parts(() => undefined),
  'another content type': parts((draft, dice) => {
    draft.contentType = dice.of(OTHER_TYPES);
  }),
  'a long boundary': parts((draft, dice) => {
    draft.boundary = 'b'.repeat(dice.between(69, 90) * dice.of([1, 1, 50]));
    draft.contentType = `multipart/form-data; boundary=${draft.boundary}`;
  }),
  'a quoted boundary': parts((draft) => {
    draft.boundary = "a b'()+_,-./:=?c";
    draft.contentType = `multipart/form-data; boundary="${draft.boundary}"`;
  }),
  'too many parts': parts((draft, dice) => {
    const more = Array.from({ length: dice.between(15, 300) }, (_, n) => fieldPart(`x${n}`, 'x'));
    draft.parts.push(...more.map(({ head }) => ({ head, body: Buffer.from('x') })));
  }),
  'ten thousand empty parts': parts((draft) => {
    draft.opening += `--${draft.boundary}\r\n`.repeat(10_000);
  }),
  'a part twice': parts((draft, dice) => {
    draft.parts.splice(dice.next(draft.parts.length + 1), 0, aPart(draft, dice));
  }),
  'the file twice': parts((draft) => {
    draft.parts.push(filePartOf(draft.route));
  }),
  'a file in another field': parts((draft, dice) => {
    draft.parts.push({ head: disposition(`; name="${dice.of(NAMES)}"; filename="a.wav"`), body: WAVE });
  }),
  'no file in the field of files': parts((draft) => {
    draft.parts.push({ head: disposition(`; name="${FILE_FIELD[draft.route]}"`), body: Buffer.from('text') });
  }),
  'a part is missing': parts((draft, dice) => {
    draft.parts.splice(dice.next(draft.parts.length), 1);
  }),
  'another order': parts((draft, dice) => {
    draft.parts.sort(() => dice.between(-1, 1));
  }),
  'another name': parts((draft, dice) => {
    aPart(draft, dice).head = disposition(`; name="${dice.of(NAMES)}"`);
  }),
  'another value': parts((draft, dice) => {
    aPart(draft, dice).body = dice.of(VALUES);
  }),
  'a field of a strange name and value': parts((draft, dice) => {
    draft.parts.push({ head: disposition(`; name="${dice.of(NAMES)}"`), body: dice.of(VALUES) });
  }),
  'a long field': parts((draft, dice) => {
    aPart(draft, dice).body = Buffer.alloc(dice.between(60_000, 200_000), 0x61);
  }),
  'an empty file': parts((draft) => {
    for (const part of draft.parts) if (part.head.includes('filename')) part.body = Buffer.alloc(0);
  }),
  'another file': parts((draft, dice) => {
    const file = dice.of(['<html>', '%PDF-1.7', 'RIFF\xff\xff\xff\x7fWAVEfmt ', 'ID3', 'PK\x03\x04']);
    for (const part of draft.parts) if (part.head.includes('filename')) part.body = Buffer.from(file, 'latin1');
  }),
  'another file name': parts((draft, dice) => {
    const field = FILE_FIELD[draft.route];
    const head = disposition(`; name="${field}"; filename="${dice.of(FILENAMES)}"`);
    for (const part of draft.parts) if (part.head.includes('filename')) part.head = head;
  }),
  'another disposition': parts((draft, dice) => {
    aPart(draft, dice).head = dice.of(DISPOSITIONS);
  }),
  'a flood of headers in a part': parts((draft, dice) => {
    const lines = Array.from({ length: dice.between(10, 1_000) }, (_, n) => `X-${n}: x`);
    aPart(draft, dice).head += `\r\n${lines.join('\r\n')}`;
  }),
  'a long header in a part': parts((draft, dice) => {
    aPart(draft, dice).head += `\r\nX-Long: ${'x'.repeat(dice.between(7_000, 70_000))}`;
  }),
  'an encoded part': parts((draft, dice) => {
    aPart(draft, dice).head += `\r\nContent-Transfer-Encoding: ${dice.of(['base64', 'quoted-printable', '8bit', 'x'])}`;
  }),
  'a form in a part': parts((draft, dice) => {
    const part = aPart(draft, dice);
    part.head += '\r\nContent-Type: multipart/mixed; boundary=inner';
    part.body = Buffer.from('--inner\r\nContent-Disposition: file; filename="a.wav"\r\n\r\nx\r\n--inner--\r\n');
  }),
  'a boundary inside a part': parts((draft, dice) => {
    const part = aPart(draft, dice);
    part.body = Buffer.concat([part.body, Buffer.from(dice.of(['\r\n--', `\r\n--${draft.boundary}`, '\n--b', '\r']))]);
  }),
  'something before it': parts((draft, dice) => {
    draft.opening = dice.of(['\r\n', 'preamble\r\n', '\0', '--', '\n']) + draft.opening;
  }),
  'something behind it': parts((draft, dice) => {
    draft.closing =
      lastDelimiter(draft) + dice.of(['\r\nepilogue', '\0'.repeat(100_000), '--', `--${draft.boundary}\r\n`]);
  }),
  'no end': parts((draft, dice) => {
    draft.closing = dice.of(['', '--', `--${draft.boundary}`, `--${draft.boundary}-`, `--${draft.boundary}\r\n`]);
  }),
  'cut off': bytes((draft, dice) => {
    draft.body = draft.body.subarray(0, dice.next(draft.body.length + 1));
  }),
  'bytes flipped': bytes((draft, dice) => {
    draft.body = Buffer.from(draft.body);
    if (draft.body.length === 0) return;
    for (let times = dice.between(1, 20); times > 0; times -= 1) {
      const at = dice.next(draft.body.length);
      draft.body[at] = draft.body[at]! ^ (1 << dice.next(8));
    }
  }),
  'bytes flipped in a head': bytes((draft, dice) => {
    draft.body = Buffer.from(draft.body);
    const at = draft.body.indexOf('Content-Disposition') + dice.next(60);
    if (at < draft.body.length) draft.body[at] = dice.next(256);
  }),
  'bytes put in': bytes((draft, dice) => {
    const at = dice.next(draft.body.length + 1);
    const more = Buffer.from(Array.from({ length: dice.between(1, 50) }, () => dice.next(256)));
    draft.body = Buffer.concat([draft.body.subarray(0, at), more, draft.body.subarray(at)]);
  }),
  'bytes left out': bytes((draft, dice) => {
    const at = dice.next(draft.body.length + 1);
    draft.body = Buffer.concat([draft.body.subarray(0, at), draft.body.subarray(at + dice.between(1, 200))]);
  }),
  'a stretch twice': bytes((draft, dice) => {
    const at = dice.next(draft.body.length + 1);
    draft.body = Buffer.concat([draft.body.subarray(0, at + dice.next(500)), draft.body.subarray(at)]);
  }),
  'line ends without CR': bytes((draft) => {
    draft.body = Buffer.from(draft.body.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
  }),
  'one line end missing': bytes((draft, dice) => {
    const lines = draft.body.toString('latin1').split('\r\n');
    const at = dice.next(lines.length);
    lines.splice(at, 2, lines.slice(at, at + 2).join(dice.of(['', '\r', '\n'])));
    draft.body = Buffer.from(lines.join('\r\n'), 'latin1');
  }),
  'in small pieces': wire((draft, dice) => {
    draft.pieces = dice.between(2, 40);
  }),
  'in chunks': wire((draft, dice) => {
    const at = dice.next(draft.body.length + 1);
    const chunks = [draft.body.subarray(0, at), draft.body.subarray(at)].filter(({ length }) => length > 0);
    const framed = chunks.flatMap((chunk) => [
      Buffer.from(`${chunk.length.toString(16)}\r\n`),
      chunk,
      Buffer.from('\r\n'),
    ]);
    draft.body = Buffer.concat([...framed, Buffer.from('0\r\n\r\n')]);
    draft.length = null;
    draft.headers.push(['Transfer-Encoding', 'chunked']);
  }),
  'a length that is none': wire((draft, dice) => {
    draft.length = dice.of(['-1', '+5', '0x10', 'many', '1e3', '', '99999999999999999999', '5, 5']);
    draft.ending = 'finish';
  }),
  'too short a length': wire((draft, dice) => {
    draft.length = String(dice.next(draft.body.length + 1));
    draft.ending = 'finish';
  }),
  'too great a length': wire((draft, dice) => {
    draft.length = String(draft.body.length + dice.of([1, 2, 1_000, 30_000_000, 100_000_000]));
    draft.ending = 'finish';
  }),
  'a length and chunks': wire((draft) => {
    draft.headers.push(['Transfer-Encoding', 'chunked']);
    draft.ending = 'finish';
  }),
  'two lengths': wire((draft) => {
    draft.headers.push(['Content-Length', '3']);
    draft.ending = 'finish';
  }),
  'a flood of headers': wire((draft, dice) => {
    const more = Array.from({ length: dice.between(80, 400) }, (_, n) => [`X-${n}`, 'x'] as const);
    draft.headers.push(...more);
    draft.ending = 'finish';
  }),
  'an encoding': wire((draft, dice) => {
    draft.headers.push(['Content-Encoding', dice.of(['gzip', 'br', 'identity', 'gzip, gzip'])]);
  }),
  'the client leaves': wire((draft, dice) => {
    draft.sent = dice.next(Math.max(1, draft.body.length));
    draft.pieces = dice.between(1, 5);
    draft.ending = dice.of(['finish', 'break']);
  }),
} satisfies Record<string, Mutation>;

export type MutationName = keyof typeof MUTATIONS;
export const MUTATION_NAMES = Object.keys(MUTATIONS) as MutationName[];
const STAGES = ['parts', 'bytes', 'wire'] as const;

export const anyRecipe: fc.Arbitrary<Recipe> = fc.record({
  route: fc.constantFrom<FormRoute>('transcription', 'transcription', 'transcription', 'video'),
  mutations: fc.array(fc.constantFrom(...MUTATION_NAMES), { minLength: 1, maxLength: 3 }),
  seed: fc.integer(),
});

/** The form of a recipe; the same for the same recipe. */
export function mutatedForm({ route, mutations, seed }: Recipe): MutatedForm {
  const dice = new Dice(seed);
  const draft = goodForm(route);
  for (const stage of STAGES) {
    if (stage === 'bytes') draft.body = assembled(draft);
    const due = mutations.map((name): Mutation => MUTATIONS[name]).filter((mutation) => mutation.stage === stage);
    for (const { apply } of due) if (stage !== 'parts' || draft.parts.length > 0) apply(draft, dice);
  }
  const sent = draft.body.subarray(0, draft.sent ?? draft.body.length);
  const said = draft.length === 'right' ? String(draft.body.length) : draft.length;
  const length: readonly HeaderLine[] = said === null ? [] : [['Content-Length', said]];
  return {
    path: route === 'video' ? '/videos' : '/audio/transcriptions',
    headers: [['Content-Type', draft.contentType], ...length, ...draft.headers],
    pieces: inPieces(sent, draft.pieces),
    ending: draft.ending,
  };
}

function goodForm(route: FormRoute): Draft {
  const boundary = 'seldom-seen';
  const fields = {
    transcription: [fieldPart('model', 'forms/speech'), fieldPart('language', 'en'), fieldPart('user', 'somebody')],
    video: [fieldPart('model', 'forms/film'), fieldPart('prompt', 'A heron lands.'), fieldPart('seconds', '4')],
  }[route];
  return {
    route,
    boundary,
    contentType: `multipart/form-data; boundary=${boundary}`,
    parts: [...fields.map(({ head, body }) => ({ head, body: Buffer.from(body) })), filePartOf(route)],
    opening: '',
    closing: null,
    body: Buffer.alloc(0),
    length: 'right',
    headers: [],
    pieces: 1,
    sent: null,
    ending: 'wait',
  };
}

function assembled({ boundary, parts: all, opening, closing }: Draft): Buffer {
  const pieces = all.flatMap(({ head, body }) => [
    Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`),
    body,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([Buffer.from(opening), ...pieces, Buffer.from(closing ?? lastDelimiter({ boundary }))]);
}

function lastDelimiter({ boundary }: Pick<Draft, 'boundary'>): string {
  return `--${boundary}--\r\n`;
}

function inPieces(all: Buffer, count: number): Buffer[] {
  const size = Math.max(1, Math.ceil(all.length / count));
  return Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.subarray(n * size, (n + 1) * size));
}

function filePartOf(route: FormRoute): Part {
  const { head, body } = route === 'video' ? filePart(PNG, 'a.png', 'image/png', 'input_reference') : filePart(WAVE);
  return { head, body: Buffer.from(body) };
}
