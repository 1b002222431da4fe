import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { estimatePrompt, promptAt, type StreamableApi } from '@libs/inference';
import {
  gifFile,
  jpegFile,
  mp3File,
  mp4File,
  opusFile,
  pngFile,
  TEXT_SAMPLES,
  waveFile,
  webmFile,
  webpFile,
} from '@libs/inference/testing';
import { MeasuredPdfs, PdfMeter } from '../parsers/pdf-meter';
import { PdfReader } from '../parsers/pdf-reader';
import { ParserPool } from '../parsers/parser-pool';
import { densePdf, denseText } from '../parsers/testing/dense-pdf';
import { outsideWork } from '../parsers/testing/outside-work';
import { tinyPdf } from '../parsers/testing/tiny-pdf';

/** A model that reads media, by the names that providers have for it, and its context. */
type Reader =
  | 'claude-opus-4-7'
  | 'claude-sonnet-4-5'
  | 'gemini-2.5-pro'
  | 'gemini-3.1-pro'
  | 'gpt-4o'
  | 'gpt-4o-mini'
  | 'gpt-4.1-nano'
  | 'gpt-5.6';
const CONTEXTS: Readonly<Record<Reader, number>> = {
  'claude-opus-4-7': 1_000_000,
  'claude-sonnet-4-5': 200_000,
  'gemini-2.5-pro': 1_048_576,
  'gemini-3.1-pro': 1_048_576,
  'gpt-4o': 128_000,
  'gpt-4o-mini': 128_000,
  'gpt-4.1-nano': 1_047_576,
  'gpt-5.6': 1_050_000,
};
const READERS = Object.keys(CONTEXTS) as readonly Reader[];
const [HEARING] = [['gemini-2.5-pro', 'gemini-3.1-pro'] as const];

interface Size {
  readonly width: number;
  readonly height: number;
}

const fit = ({ width, height }: Size, edge: number): Size => {
  const scale = Math.min(1, edge / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
};
const patches = ({ width, height }: Size, edge: number): number => Math.ceil(width / edge) * Math.ceil(height / edge);

/** https://platform.claude.com/docs/en/build-with-claude/vision: width × height / 750, made smaller beyond a limit. */
const claude = (size: Size, edge: number, most: number): number => {
  const { width, height } = fit(size, edge);
  return Math.min(most, Math.ceil((width * height) / 750));
};

/** https://ai.google.dev/gemini-api/docs/tokens: 258, or 258 for each tile of a picture beyond 384 pixels. */
function gemini2(size: Size): number {
  const { width, height } = fit(size, 3_072);
  if (width <= 384 && height <= 384) return 258;
  const unit = Math.max(256, Math.min(768, Math.floor(Math.min(width, height) / 1.5)));
  return 258 * patches({ width, height }, unit);
}

/** https://platform.openai.com/docs/guides/images-vision: tiles of 512 of a picture of 768 by at most 2,048 pixels. */
function tiles(size: Size, base: number, tile: number): number {
  const { width, height } = fit(size, 2_048);
  const scale = Math.min(1, 768 / Math.min(width, height));
  return base + tile * patches({ width: width * scale, height: height * scale }, 512);
}

/** The same page: patches of 32 pixels, so many at most, and so many tokens for each. */
const patched = (size: Size, most: number, tokens: number): number =>
  Math.ceil(Math.min(most, patches(size, 32)) * tokens);

const PICTURE: Readonly<Record<Reader, (size: Size) => number>> = {
  'claude-opus-4-7': (size) => claude(size, 2_576, 4_784),
  'claude-sonnet-4-5': (size) => claude(size, 1_568, 1_568),
  'gemini-2.5-pro': gemini2,
  // https://ai.google.dev/gemini-api/docs/media-resolution: the default of pictures.
  'gemini-3.1-pro': () => 1_120,
  'gpt-4o': (size) => tiles(size, 85, 170),
  'gpt-4o-mini': (size) => tiles(size, 2_833, 5_667),
  'gpt-4.1-nano': (size) => patched(size, 1_536, 2.46),
  'gpt-5.6': (size) => patched(size, 30_000, 1.2),
};

/** https://ai.google.dev/gemini-api/docs/tokens: 32 a second of sound, 263 of film, and its sound. */
const sound = (seconds: number): number => Math.floor(seconds * 32);
const film = (seconds: number): number => Math.floor(seconds * (263 + 32));

/**
 * https://platform.claude.com/docs/en/build-with-claude/pdf-support: the text of a page and a picture of it; OpenAI's
 * "PDF files" says the same. Gemini ("Document understanding") counts 258 a page, Gemini 3 560, and no text.
 */
const A4_PAGE = { width: 1_822, height: 2_576 };
const PDF_PAGE: Readonly<Record<Reader, number>> = {
  'claude-opus-4-7': PICTURE['claude-opus-4-7'](A4_PAGE),
  'claude-sonnet-4-5': 1_568,
  'gemini-2.5-pro': 258,
  'gemini-3.1-pro': 560,
  'gpt-4o': PICTURE['gpt-4o'](A4_PAGE),
  // The text of 4o mini is not counted otherwise than that of others, and nothing is published of its pages.
  'gpt-4o-mini': PICTURE['gpt-4o'](A4_PAGE),
  'gpt-4.1-nano': 1_105,
  'gpt-5.6': 3_000,
};

type Kind = 'picture' | 'sound' | 'film' | 'file';

interface Medium {
  readonly name: string;
  readonly kind: Kind;
  readonly type: string;
  /** Null: behind a link. */
  readonly bytes: Buffer | null;
  readonly real: Partial<Record<Reader, number>>;
}

const SIZES: readonly (readonly [number, number])[] = [
  [1, 1],
  [16, 900],
  [200, 200],
  [385, 3_072],
  [512, 512],
  [640, 480],
  [1_024, 1_024],
  [1_092, 1_092],
  [1_920, 1_080],
  [2_048, 4_096],
  [2_576, 1_449],
  [3_000, 50],
  [4_032, 3_024],
  [6_000, 1_700],
  [8_000, 3_800],
];
const FORMATS: readonly (readonly [string, (width: number, height: number) => Buffer])[] = [
  ['png', pngFile],
  ['jpeg', jpegFile],
  ['jpeg', (width, height) => jpegFile(width, height, 180_000)],
  ['gif', gifFile],
  ['gif', (width, height) => gifFile(width, height, { width: 1, height: 1 })],
  ['webp', (width, height) => webpFile(width, height, 'VP8 ')],
  ['webp', (width, height) => webpFile(width, height, 'VP8L')],
  ['webp', (width, height) => webpFile(width, height, 'VP8X')],
];

const forAll = <T>(of: readonly Reader[], tokens: (reader: Reader) => T): Partial<Record<Reader, T>> =>
  Object.fromEntries(of.map((reader) => [reader, tokens(reader)])) as Partial<Record<Reader, T>>;

function pictures(): Medium[] {
  const real = (width: number, height: number) => forAll(READERS, (reader) => PICTURE[reader]({ width, height }));
  return [
    ...SIZES.flatMap(([width, height]) =>
      FORMATS.map(([format, make], index): Medium => ({
        name: `${format} ${index} of ${width} × ${height}`,
        kind: 'picture',
        type: `image/${format}`,
        bytes: make(width, height),
        real: real(width, height),
      })),
    ),
    {
      name: 'picture that cannot be read',
      kind: 'picture',
      type: 'image/heic',
      bytes: Buffer.alloc(900, 7),
      real: real(8_000, 3_800),
    },
    { name: 'picture behind a link', kind: 'picture', type: 'image/png', bytes: null, real: real(8_000, 3_800) },
  ];
}

const HOUR = 3_600;
function recordings(): Medium[] {
  const all: readonly (readonly [string, string, Buffer | null, number])[] = [
    ['wav', 'audio/wav', waveFile(90), 90],
    ['mp3 at 8 kbit/s', 'audio/mp3', mp3File(HOUR, 8), HOUR],
    ['mp3 at 160 kbit/s', 'audio/mp3', mp3File(200, 160), 200],
    [
      'mp3 with garbage in front of most of it',
      'audio/mp3',
      Buffer.concat([mp3File(1, 8), Buffer.from('x'), mp3File(HOUR, 8)]),
      HOUR,
    ],
    ['Opus at 6 kbit/s', 'audio/ogg', opusFile(HOUR, 750 * HOUR), HOUR],
    ['m4a', 'audio/m4a', mp4File({ seconds: 600, bytes: 900_000, isFilm: false }), 600],
    [
      'm4a whose head says a second',
      'audio/m4a',
      mp4File({ seconds: HOUR, bytes: 900_000, isFilm: false, toldSeconds: 1 }),
      HOUR,
    ],
    [
      'm4a whose table of times lies',
      'audio/m4a',
      mp4File({ seconds: HOUR, bytes: 900_000, isFilm: false, toldSeconds: 1, toldTicks: 2 }),
      HOUR,
    ],
    [
      'm4a in fragments',
      'audio/m4a',
      mp4File({ seconds: HOUR, bytes: 4_000_000, isFilm: false, toldSeconds: 1, isFragmented: true }),
      HOUR,
    ],
    ['webm', 'audio/webm', webmFile(300, 600_000), 300],
    ['webm out of order', 'audio/webm', webmFile(300, 600_000, { isShuffled: true }), 300],
    ['sound without a head at 8 kbit/s', 'audio/amr', Buffer.alloc(HOUR * 1_000, 7), HOUR],
    ['sound behind a link', 'audio/mp3', null, 9 * HOUR],
  ];
  return all.map(([name, type, bytes, seconds]) => ({
    name,
    type,
    bytes,
    kind: 'sound',
    real: forAll(HEARING, () => sound(seconds)),
  }));
}

function films(): Medium[] {
  const all: readonly (readonly [string, string, Buffer | null, number])[] = [
    ['mp4', 'video/mp4', mp4File({ seconds: 60, bytes: 3_000_000, isFilm: true }), 60],
    ['mp4 at 20 kbit/s', 'video/mp4', mp4File({ seconds: HOUR, bytes: 20_000 * (HOUR / 8), isFilm: true }), HOUR],
    [
      'mp4 whose head says a second',
      'video/mp4',
      mp4File({ seconds: HOUR, bytes: 9_000_000, isFilm: true, toldSeconds: 1 }),
      HOUR,
    ],
    ['webm at 20 kbit/s', 'video/webm', webmFile(HOUR, 20_000 * (HOUR / 8), { codec: 'V_VP9' }), HOUR],
    ['film without a head at 20 kbit/s', 'video/x-flv', Buffer.alloc(20_000 * (HOUR / 8), 7), HOUR],
    ['film behind a link', 'video/mp4', null, HOUR],
  ];
  return all.map(([name, type, bytes, seconds]) => ({
    name,
    type,
    bytes,
    kind: 'film',
    real: forAll(HEARING, () => film(seconds)),
  }));
}

const ENGLISH = TEXT_SAMPLES['English report']!;
const plain = (text: string): string => text.replaceAll(/[^A-Za-z0-9 .,]/g, ' ');

function files(): Medium[] {
  const page = denseText(plain(ENGLISH));
  const digits = denseText('31415926535897932384626433832795028841971 ');
  const readers = (pages: number, text: string) =>
    forAll(READERS, (reader) => {
      const words = reader.startsWith('gemini') ? 0 : encode(text).length;
      return Math.min(CONTEXTS[reader], pages * (PDF_PAGE[reader] + words));
    });
  const all: readonly (readonly [string, Buffer | null, number, string])[] = [
    ['PDF of a page', densePdf(1, page), 1, page],
    ['PDF of 100 pages in a compressed stream of objects', densePdf(100, page), 100, page],
    ['PDF of 100 pages that says one', densePdf(100, page, 1), 100, page],
    ['PDF of 40 pages of digits', densePdf(40, digits), 40, digits],
    ['PDF of 90 empty pages', densePdf(90, ' '), 90, ''],
    ['PDF of 300 pages', densePdf(300, page), 300, page],
    ['PDF without compression', tinyPdf(Array.from({ length: 30 }, () => plain(ENGLISH))), 30, plain(ENGLISH)],
    ['PDF that is damaged', Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(3_000, 7)]), 100, page],
    ['PDF behind a link', null, 100, page],
  ];
  return all.map(([name, bytes, pages, text]) => ({
    name,
    bytes,
    kind: 'file',
    type: 'application/pdf',
    real: readers(pages, text),
  }));
}

const LINK = 'https://files.example/a';

interface Written {
  readonly url: string;
  readonly type: string;
  /** Undefined: behind a link. */
  readonly data: string | undefined;
}

const soundPart = ({ data, type }: Written): object => ({
  type: 'input_audio',
  input_audio: data === undefined ? `${LINK}.mp3` : { data, format: type.slice('audio/'.length) },
});
const sourceOf = ({ data, url, type }: Written): object =>
  data === undefined ? { type: 'url', url } : { type: 'base64', media_type: type, data };

/** The parts of each API that take such media. */
const PARTS: Readonly<Record<StreamableApi, Partial<Record<Kind, (written: Written) => object>>>> = {
  chat: {
    picture: ({ url }) => ({ type: 'image_url', image_url: { url } }),
    sound: soundPart,
    film: ({ url }) => ({ type: 'video_url', video_url: { url } }),
    file: ({ url }) => ({ type: 'file', file: { filename: 'a.pdf', file_data: url } }),
  },
  responses: {
    picture: ({ url }) => ({ type: 'input_image', image_url: url }),
    sound: soundPart,
    film: ({ url }) => ({ type: 'input_video', video_url: url }),
    file: ({ url, data }) => ({ type: 'input_file', ...(data === undefined ? { file_url: url } : { file_data: url }) }),
  },
  messages: {
    picture: (written) => ({ source: sourceOf(written), type: 'image' }),
    file: (written) => ({ source: sourceOf(written), type: 'document' }),
  },
};

/** Null where the API has no such part. */
function partOf(api: StreamableApi, { kind, type, bytes }: Medium): object | null {
  const data = bytes?.toString('base64');
  const url = data === undefined ? LINK : `data:${type};base64,${data}`;
  return PARTS[api][kind]?.({ url, type, data }) ?? null;
}

function bodyOf(api: StreamableApi, part: object): Buffer {
  const turns = [{ role: 'user', content: [part] }];
  return Buffer.from(JSON.stringify({ model: 'm', ...(api === 'responses' ? { input: turns } : { messages: turns }) }));
}

describe('the estimate of media', () => {
  const pool = new ParserPool();
  const meter = new PdfMeter(new PdfReader(pool));
  const ratios: { readonly name: string; readonly ratio: number }[] = [];

  afterAll(() => pool.onApplicationShutdown());

  /** Of media in chat, which two tests look at. */
  const inChat = new Map<Medium, (reader: Reader) => number>();

  async function estimates(api: StreamableApi, medium: Medium, part: object): Promise<(reader: Reader) => number> {
    const known = api === 'chat' ? inChat.get(medium) : undefined;
    const estimate = known ?? (await estimatesOf(bodyOf(api, part)));
    if (api === 'chat') inChat.set(medium, estimate);
    return estimate;
  }

  /** What a call is held for at a model: what `hold-estimate.ts` counts. */
  async function estimatesOf(body: Buffer): Promise<(reader: Reader) => number> {
    const measured = new MeasuredPdfs();
    await meter.measure(measured, estimatePrompt(body), body, outsideWork());
    const prompt = measured.settle(estimatePrompt(body), body);
    return (reader) => Math.min(CONTEXTS[reader], promptAt({ upstreamModel: reader }, prompt).tokens);
  }

  const apis: readonly StreamableApi[] = ['chat', 'responses', 'messages'];
  const media = [...pictures(), ...recordings(), ...films(), ...files()];

  it.each(apis)(
    'is never below 0.6 of what a provider charges, on %s',
    async (api) => {
      const low: string[] = [];
      for (const medium of media) {
        const part = partOf(api, medium);
        if (part === null) continue;
        const estimate = await estimates(api, medium, part);
        for (const [reader, real] of Object.entries(medium.real) as [Reader, number][]) {
          const ratio = estimate(reader) / Math.min(CONTEXTS[reader], real);
          const name = `${medium.name} for ${reader}: ${estimate(reader)} of ${real}`;
          ratios.push({ name, ratio });
          if (ratio < 0.6) low.push(name);
        }
      }
      expect(low).toEqual([]);
    },
    120_000,
  );

  it('has this distribution', () => {
    const sorted = ratios.map(({ ratio }) => ratio).toSorted((one, other) => one - other);
    const at = (share: number): number => Number(sorted[Math.floor(share * (sorted.length - 1))]!.toPrecision(2));
    expect(sorted.length).toBeGreaterThan(2_000);
    expect({ least: at(0), p5: at(0.05), median: at(0.5), p95: at(0.95) }).toEqual({
      least: 0.62,
      p5: 1,
      median: 1.5,
      p95: 19,
    });
  });

  it('holds at most five times the dearest price of media that can be measured', async () => {
    const measurable = media.filter(
      ({ name, bytes }) => bytes !== null && !/without a head|cannot|damaged|fragments/.test(name),
    );
    const high: string[] = [];
    for (const medium of measurable) {
      const estimate = await estimates('chat', medium, partOf('chat', medium)!);
      const most = Math.max(...Object.values(medium.real));
      const held = estimate('gpt-5.6');
      if (held > 5 * Math.max(most, 1_000)) high.push(`${medium.name}: ${held} of ${most}`);
    }
    expect(high).toEqual([]);
  }, 120_000);
});
