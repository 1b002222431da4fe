import { randomBytes } from 'node:crypto';
import { estimatePrompt } from '../model/estimate';
import { turnBody } from '../model/turn-body';
import { mp4File } from '../testing/mp4-files';
import { jpegFile, pngFile } from '../testing/picture-files';
import { mp3File } from '../testing/sound-files';
import { waveFile } from '../testing/recordings';
import { mulberry, TEXT_SAMPLES } from '../testing/text-samples';
import { TRANSLATIONS, type StreamableApi } from './dialect-pairs';

interface Medium {
  readonly kind: 'image' | 'audio' | 'video' | 'file';
  readonly type: string;
  readonly data: string;
}

const base64 = (bytes: Buffer): string => bytes.toString('base64');
/** Behind its end a picture may hold anything. */
const noisy = Buffer.concat([jpegFile(800, 800), randomBytes(400_000)]);
const pdf = Buffer.concat([Buffer.from('%PDF-1.7 '), randomBytes(40_000)]);

const MEDIA: Readonly<Record<string, Medium>> = {
  'a noisy picture': { kind: 'image', type: 'image/jpeg', data: base64(noisy) },
  'a large picture': { kind: 'image', type: 'image/png', data: base64(pngFile(4_000, 4_000)) },
  'a picture that cannot be measured': { kind: 'image', type: 'image/webp', data: base64(randomBytes(30_000)) },
  'a minute of sound': { kind: 'audio', type: 'audio/wav', data: base64(waveFile(60)) },
  'a minute of music': { kind: 'audio', type: 'audio/mpeg', data: base64(mp3File(60, 128)) },
  'a film': { kind: 'video', type: 'video/mp4', data: base64(mp4File({ isFilm: true, seconds: 20, bytes: 400_000 })) },
  'a PDF file': { kind: 'file', type: 'application/pdf', data: base64(pdf) },
  'a text file': {
    kind: 'file',
    type: 'text/plain',
    data: base64(Buffer.from('Costs have risen again. '.repeat(900))),
  },
};

const urlOf = ({ type, data }: Medium): string => `data:${type};base64,${data}`;
const formatOf = ({ type }: Medium): string => (type === 'audio/wav' ? 'wav' : 'mp3');

/** Parts of each API; null where it has no such part. */
const PARTS: Readonly<Record<StreamableApi, (medium: Medium) => object | null>> = {
  chat: (medium) => {
    const { kind, data } = medium;
    if (kind === 'image') return { type: 'image_url', image_url: { url: urlOf(medium) } };
    if (kind === 'audio') return { type: 'input_audio', input_audio: { data, format: formatOf(medium) } };
    if (kind === 'video') return { type: 'video_url', video_url: { url: urlOf(medium) } };
    return { type: 'file', file: { filename: 'a', file_data: urlOf(medium) } };
  },
  responses: (medium) => {
    const { kind, data } = medium;
    if (kind === 'image') return { type: 'input_image', image_url: urlOf(medium) };
    if (kind === 'audio') return { type: 'input_audio', input_audio: { data, format: formatOf(medium) } };
    if (kind === 'video') return { type: 'input_video', video_url: urlOf(medium) };
    return { type: 'input_file', filename: 'a', file_data: urlOf(medium) };
  },
  messages: ({ kind, type, data }) => {
    if (kind === 'audio' || kind === 'video') return null;
    if (type === 'text/plain') return null;
    const source = { type: 'base64', media_type: type, data };
    return { type: kind === 'image' ? 'image' : 'document', source };
  },
};

const SCHEMA = {
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: 120 }, (_, at) => [`member_${at}`, { type: 'string', description: 'What the caller wants.' }]),
  ),
};
const textOf = (api: StreamableApi, text: string): object => ({
  type: api === 'responses' ? 'input_text' : 'text',
  text,
});
const requestOf = (api: StreamableApi, messages: readonly object[], hasSchema: boolean): Record<string, unknown> => {
  const tool = { name: 'look_up', description: 'Looks a word up.' };
  switch (api) {
    case 'chat':
      return {
        messages,
        tools: [{ type: 'function', function: { ...tool, parameters: SCHEMA } }],
        ...(hasSchema && { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMA } } }),
      };
    case 'responses':
      return {
        input: messages,
        tools: [{ type: 'function', ...tool, parameters: SCHEMA }],
        ...(hasSchema && { text: { format: { type: 'json_schema', name: 'x', schema: SCHEMA } } }),
      };
    case 'messages':
      return {
        messages,
        max_tokens: 16,
        tools: [{ ...tool, input_schema: SCHEMA }],
        ...(hasSchema && { output_config: { format: { type: 'json_schema', schema: SCHEMA } } }),
      };
  }
};

/** Of each medium alone, and of 60 mixtures of texts and media in one to eight messages. */
function corpus(api: StreamableApi): (readonly [string, Record<string, unknown>])[] {
  const texts = Object.values(TEXT_SAMPLES);
  const media = Object.entries(MEDIA).flatMap(([name, medium]) => {
    const part = PARTS[api](medium);
    return part === null ? [] : [[name, part] as const];
  });
  const alone = media.map(([name, part]) => {
    const content = [textOf(api, 'Look'), part];
    return [name, requestOf(api, [{ role: 'user', content }], false)] as const;
  });
  const next = mulberry(19);
  const one = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!;
  const mixed = Array.from({ length: 60 }, (_, number) => {
    const messages = Array.from({ length: 1 + Math.floor(next() * 8) }, (_message, at) => {
      if (at % 2 === 1) return { role: 'assistant', content: one(texts) };
      const content = [textOf(api, one(texts)), ...(next() < 0.3 ? [one(media)[1]] : [])];
      return { role: 'user', content };
    });
    return [`mixture ${number}`, requestOf(api, messages, next() < 0.3)] as const;
  });
  const schema = requestOf(api, [{ role: 'user', content: 'Go' }], true);
  return [...alone, ...mixed, ['a schema', schema] as const];
}

describe.each(['chat', 'responses', 'messages'] as const)('the estimate of the first turn of a loop on %s', (api) => {
  const bytesOf = (request: object): Buffer => Buffer.from(JSON.stringify(request));
  const turnOf = (request: Record<string, unknown>): Buffer =>
    turnBody(TRANSLATIONS.get(api)!.caller.readRequest(request));

  it.each(corpus(api))('is that of the request: %s', (_name, request) => {
    const asked = estimatePrompt(bytesOf(request));
    const turn = estimatePrompt(turnOf(request));
    for (const member of ['tokens', 'likelyTokens'] as const) {
      expect(turn[member] / asked[member]).toBeGreaterThan(0.9);
      expect(turn[member] / asked[member]).toBeLessThan(1.1);
    }
    expect(turn.unlikelyMediaTokens).toBe(asked.unlikelyMediaTokens);
    expect(turn.kinds).toEqual(asked.kinds);
    expect(turn.pdfs.length).toBe(asked.pdfs.length);
  });
});

describe(turnBody.name, () => {
  it.each([
    ['chat', { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { ttl: '1h' } }] }] }],
    [
      'messages',
      { system: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } }], messages: [] },
    ],
  ] as const)('keeps the marks of a cache (%s)', (api, request) => {
    const turn = turnBody(TRANSLATIONS.get(api)!.caller.readRequest(request));
    expect(estimatePrompt(turn).kinds).toMatchObject({ cacheWrite: '1h' });
  });

  it.each([
    ['image', 'url'],
    ['file', 'url'],
    ['video', 'url'],
    ['image', 'file-id'],
    ['file', 'file-id'],
  ] as const)('counts a %s behind a %s as the most that it may be', (type, kind) => {
    const source = kind === 'url' ? { kind, url: 'https://files.example/a' } : { kind, id: 'fileabc123' };
    const part = { type, source } as never;
    const turn = turnBody({ messages: [{ role: 'user', parts: [part] }], tools: [] });
    expect(estimatePrompt(turn).tokens).toBeGreaterThan(type === 'image' ? 4_700 : 249_000);
  });

  it('counts sealed thoughts as their provider does', () => {
    const encrypted = randomBytes(3_000).toString('base64');
    const thought = { type: 'reasoning', encrypted, signature: encrypted } as const;
    const turn = turnBody({ messages: [{ role: 'assistant', parts: [thought] }], tools: [] });
    expect(estimatePrompt(turn).tokens).toBeLessThan(2_100);
  });
});
