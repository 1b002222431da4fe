import fc from 'fast-check';
import type { UpstreamDialect } from '../support/provider-scripts';

/** A request as it goes out: what a client would tidy up stays as it is. */
export interface FuzzRequest {
  readonly api: UpstreamDialect;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Written by hand on a connection of its own, so that its headers may be anything. */
  readonly isRaw: boolean;
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const ODD_TEXTS = [
  '',
  '\u0000',
  '\ud800',
  '\udc00x',
  '﷽',
  '𝒳'.repeat(300),
  '‮evil',
  '\u2028',
  '{{7*7}}',
  '__proto__',
  'x'.repeat(9_000),
];
const ODD_NUMBERS = [0, -0, -1, 0.1, 1e-9, 1e21, 2 ** 53 + 2, -(2 ** 63), Number.MAX_VALUE, Number.MIN_VALUE];

const anyText = fc.oneof(
  { weight: 30, arbitrary: fc.lorem({ maxCount: 12 }) },
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.constantFrom(...ODD_TEXTS) },
);
const oneIn = <T>(chances: number, odd: fc.Arbitrary<T>, usual: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 1, arbitrary: odd }, { weight: chances - 1, arbitrary: usual });

const anyName = oneIn(30, anyText, fc.stringMatching(/^[a-z][a-z_]{0,11}$/));

const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
  anyText,
  fc.constantFrom<Json>(...ODD_NUMBERS),
  fc.constantFrom<Json>(null, true, [], {}, [[]], [{}], '1', 'true'),
);

const anySchema: fc.Arbitrary<Json> = fc.constantFrom<Json>(
  { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  { type: 'object', properties: {}, additionalProperties: false },
  { type: 'object', properties: { self: { $ref: '#' } } },
  { anyOf: [{ type: 'string' }, { type: 'null' }] },
);
const anyUrl = oneIn(
  8,
  fc.constantFrom(
    'data:image/png;base64,%%%',
    'http://169.254.169.254/latest',
    'file:///etc/passwd',
    'javascript:alert(1)',
    '',
  ),
  fc.constantFrom('https://pictures.example/cat.png', 'data:image/png;base64,iVBORw0KGgo='),
);
const anyArguments = oneIn(4, anyText, fc.constantFrom('{}', '{"city":"Paris"}'));

const some = (arbitrary: fc.Arbitrary<Json>, maxLength = 3): fc.Arbitrary<Json> => fc.array(arbitrary, { maxLength });
const object = (members: Record<string, fc.Arbitrary<Json>>): fc.Arbitrary<Json> =>
  fc.record(members, { requiredKeys: Object.keys(members) }) as fc.Arbitrary<Json>;
const is = (value: Json): fc.Arbitrary<Json> => fc.constant(value);

const SAMPLING: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  temperature: fc.double({ min: 0, max: 2, noNaN: true }),
  top_p: fc.double({ min: 0, max: 1, noNaN: true }),
  top_k: fc.integer({ min: 0, max: 100 }),
  user: anyText,
  session_id: anyText,
  metadata: fc.dictionary(anyName, anyText, { maxKeys: 4 }) as fc.Arbitrary<Json>,
  service_tier: fc.constantFrom('auto', 'default', 'flex'),
  models: some(oneIn(10, is('fuzz/none'), fc.constantFrom('fuzz/chat', 'fuzz/responses', 'fuzz/messages'))),
  provider: oneIn(
    4,
    fc.constantFrom<Json>(
      { only: ['fuzz-chat'] },
      { ignore: ['fuzz-messages'] },
      { require_parameters: true },
      { max_price: { prompt: 0 } },
      { order: [] },
      { sort: 'beauty' },
    ),
    fc.constantFrom<Json>(
      null,
      {},
      { sort: 'price' },
      { allow_fallbacks: false, order: ['fuzz-responses'] },
      { zdr: true, data_collection: 'deny' },
      { max_price: { prompt: 1 } },
    ),
  ),
};

const chatContent = fc.oneof(
  { weight: 4, arbitrary: anyText as fc.Arbitrary<Json> },
  {
    weight: 1,
    arbitrary: some(
      fc.oneof(
        object({ type: is('text'), text: anyText }),
        object({ type: is('image_url'), image_url: object({ url: anyUrl }) }),
        object({ type: is('input_audio'), input_audio: is({ data: 'AAAA', format: 'wav' }) }),
        object({ type: is('file'), file: is({ filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' }) }),
      ),
    ),
  },
);
const chatCall = object({
  id: anyName,
  type: is('function'),
  function: object({ name: anyName, arguments: anyArguments }),
});
const chatMessage = fc.oneof(
  { weight: 4, arbitrary: object({ role: is('user'), content: chatContent }) },
  { weight: 1, arbitrary: object({ role: fc.constantFrom('system', 'developer', 'assistant'), content: chatContent }) },
  { weight: 1, arbitrary: object({ role: is('assistant'), content: is(null), tool_calls: some(chatCall) }) },
  { weight: 1, arbitrary: object({ role: is('tool'), tool_call_id: anyName, content: anyText }) },
);
const CHAT: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  ...SAMPLING,
  messages: fc.array(chatMessage, { minLength: 1, maxLength: 4 }),
  max_tokens: fc.integer({ min: 1, max: 4_096 }),
  max_completion_tokens: fc.integer({ min: 1, max: 4_096 }),
  n: fc.integer({ min: 1, max: 3 }),
  stop: fc.oneof(anyText as fc.Arbitrary<Json>, some(anyText)),
  seed: fc.integer(),
  logprobs: fc.boolean(),
  logit_bias: is({ 50256: -100 }),
  frequency_penalty: fc.double({ min: -2, max: 2, noNaN: true }),
  stream_options: is({ include_usage: false }),
  tools: some(
    object({ type: is('function'), function: object({ name: anyName, description: anyText, parameters: anySchema }) }),
  ),
  tool_choice: fc.constantFrom<Json>('auto', 'none', 'required', { type: 'function', function: { name: 'a' } }),
  response_format: fc.constantFrom<Json>(
    { type: 'text' },
    { type: 'json_object' },
    { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
  ),
  reasoning: fc.constantFrom<Json>({ effort: 'high' }, { max_tokens: 2_000 }, { exclude: true }),
};

const responsesPart = fc.oneof(
  object({ type: is('input_text'), text: anyText }),
  object({ type: is('input_image'), image_url: anyUrl }),
  object({ type: is('input_file'), filename: is('a.pdf'), file_data: is('AAAA') }),
);
const responsesItem = fc.oneof(
  {
    weight: 4,
    arbitrary: object({ role: is('user'), content: fc.oneof(anyText as fc.Arbitrary<Json>, some(responsesPart)) }),
  },
  {
    weight: 1,
    arbitrary: object({ type: is('message'), role: fc.constantFrom('system', 'developer'), content: anyText }),
  },
  {
    weight: 1,
    arbitrary: object({ type: is('function_call'), call_id: anyName, name: anyName, arguments: anyArguments }),
  },
  { weight: 1, arbitrary: object({ type: is('function_call_output'), call_id: anyName, output: anyText }) },
  {
    weight: 1,
    arbitrary: object({
      type: is('reasoning'),
      id: anyName,
      summary: some(object({ type: is('summary_text'), text: anyText })),
    }),
  },
);
const RESPONSES: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  ...SAMPLING,
  input: fc.oneof(anyText as fc.Arbitrary<Json>, fc.array(responsesItem, { minLength: 1, maxLength: 4 })),
  instructions: anyText,
  max_output_tokens: fc.integer({ min: 1, max: 4_096 }),
  max_tool_calls: fc.integer({ min: 1, max: 30 }),
  previous_response_id: is(null),
  store: is(false),
  truncation: fc.constantFrom('auto', 'disabled'),
  tools: some(object({ type: is('function'), name: anyName, parameters: anySchema, strict: fc.boolean() })),
  tool_choice: fc.constantFrom<Json>('auto', 'none', 'required', { type: 'function', name: 'a' }),
  text: fc.constantFrom<Json>(
    { format: { type: 'json_object' } },
    { format: { type: 'json_schema', name: 'x', schema: { type: 'object' } } },
    { verbosity: 'low' },
  ),
  reasoning: fc.constantFrom<Json>({ effort: 'low' }, { summary: 'auto' }),
  include: fc.constantFrom<Json>([], ['reasoning.encrypted_content']),
  modalities: is(['text']),
  plugins: is([]),
};

const block = fc.oneof(
  { weight: 3, arbitrary: object({ type: is('text'), text: anyText }) },
  { weight: 1, arbitrary: object({ type: is('image'), source: object({ type: is('url'), url: anyUrl }) }) },
  { weight: 1, arbitrary: is({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }) },
  { weight: 1, arbitrary: object({ type: is('tool_use'), id: anyName, name: anyName, input: is({ city: 'Paris' }) }) },
  { weight: 1, arbitrary: object({ type: is('tool_result'), tool_use_id: anyName, content: anyText }) },
  { weight: 1, arbitrary: object({ type: is('thinking'), thinking: anyText, signature: anyName }) },
);
const MESSAGES: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  ...SAMPLING,
  messages: fc.array(
    object({
      role: fc.constantFrom('user', 'user', 'assistant'),
      content: fc.oneof(anyText as fc.Arbitrary<Json>, some(block)),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  system: fc.oneof(anyText as fc.Arbitrary<Json>, some(object({ type: is('text'), text: anyText }))),
  max_tokens: fc.integer({ min: 1, max: 4_096 }),
  stop_sequences: some(anyText),
  metadata: object({ user_id: anyText }),
  tools: some(object({ name: anyName, description: anyText, input_schema: anySchema })),
  tool_choice: fc.constantFrom<Json>({ type: 'auto' }, { type: 'any' }, { type: 'none' }, { type: 'tool', name: 'a' }),
  thinking: fc.constantFrom<Json>(
    { type: 'disabled' },
    { type: 'enabled', budget_tokens: 1_024 },
    { type: 'adaptive' },
  ),
  cache_control: is({ type: 'ephemeral' }),
};

const MEMBERS: Readonly<Record<UpstreamDialect, Readonly<Record<string, fc.Arbitrary<Json>>>>> = {
  chat: CHAT,
  responses: RESPONSES,
  messages: MESSAGES,
};
/** What a request that makes sense says. */
const NEEDED: Readonly<Record<UpstreamDialect, readonly string[]>> = {
  chat: ['messages'],
  responses: ['input'],
  messages: ['messages', 'max_tokens'],
};

const anyModel = oneIn(
  12,
  fc.oneof(anyText, fc.constantFrom('fuzz/none', 'fuzz/chat:nitro', 'fuzz/chat:floor', 'FUZZ/CHAT', '')),
  fc.constantFrom('fuzz/chat', 'fuzz/responses', 'fuzz/messages', 'fuzz/all'),
);
const anyStream: fc.Arbitrary<Json | undefined> = oneIn<Json | undefined>(
  15,
  fc.constantFrom<Json>(null, 'true', 1, {}, []),
  fc.constantFrom<Json | undefined>(true, false, undefined),
);

/** Members that somebody may well send, a few at a time, none of them wrong in itself. */
function plausible(api: UpstreamDialect): fc.Arbitrary<Record<string, Json>> {
  const members = MEMBERS[api];
  const optional = Object.keys(members).filter((name) => !NEEDED[api].includes(name));
  const chosen = fc.subarray(optional, { maxLength: 4 });
  return chosen.chain((names) => {
    const kept = [...NEEDED[api], ...names];
    const record = Object.fromEntries(kept.map((name) => [name, members[name]!]));
    return fc
      .tuple(fc.record(record), anyModel, anyStream)
      .map(
        ([body, model, stream]) =>
          ({ model, ...body, ...(stream !== undefined && { stream }) }) as Record<string, Json>,
      );
  });
}

interface Mutation {
  /** Which of the values of the body, counted from its first, modulo their number. */
  readonly place: number;
  readonly kind: 'replace' | 'remove' | 'wrap' | 'double' | 'add';
  readonly value: Json;
}

const anyMutation: fc.Arbitrary<Mutation> = fc.record({
  place: fc.nat(10_000),
  kind: fc.constantFrom('replace', 'remove', 'wrap', 'double', 'add'),
  value: anyJson,
});

type Holder = { [name: string]: Json } | Json[];

/** Every place of a value within another one, outermost first. */
function placesIn(value: Json, into: { holder: Holder; key: string }[] = []): { holder: Holder; key: string }[] {
  if (typeof value !== 'object' || value === null) return into;
  for (const key of Object.keys(value)) into.push({ holder: value, key });
  for (const inner of Object.values(value)) placesIn(inner, into);
  return into;
}

function mutate(body: Record<string, Json>, { place, kind, value }: Mutation): void {
  const places = placesIn(body);
  const at = places[place % Math.max(1, places.length)];
  if (at === undefined) return;
  const holder = at.holder as Record<string, Json>;
  const old = holder[at.key]!;
  if (kind === 'remove') delete holder[at.key];
  else if (kind === 'replace') holder[at.key] = value;
  else if (kind === 'wrap') holder[at.key] = [old];
  else if (kind === 'double') holder[at.key] = Array.isArray(old) ? [...old, ...old] : [old, old];
  else if (Array.isArray(holder)) holder.push(value);
  else holder[typeof value === 'string' ? value : 'unheard_of'] = value;
}

const NESTED = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const withMember = (text: string, member: string): string => `${text.slice(0, -1)},${member}}`;

/** What only shows in the text of a body. */
const TEXT_TWISTS: readonly ((text: string, at: number) => string | Buffer)[] = [
  (text, at) => text.slice(0, at % text.length),
  (text) => `\ufeff${text}`,
  (text) => text + text,
  (text, at) => withMember(text, `"deep":${NESTED(1 + (at % 5_000))}`),
  (text) => withMember(text, '"model":"fuzz/none","model":"fuzz/chat"'),
  (text) => withMember(text, '"stream":false,"str\\u0065am":true'),
  (text) => withMember(text, '"max_tokens":1e999'),
  (text) => withMember(text, '"max_tokens":12345678901234567890123456789'),
  (text) => withMember(text, '"__proto__":{"stream":true},"constructor":{"prototype":{}}'),
  (text) => withMember(text, '"\\\\":1,"\\"":2,"\\u0000":3'),
  (text) => withMember(text, `"many":{${Array.from({ length: 500 }, (_, n) => `"m${n}":${n}`).join()}}`),
  (text) => text.replaceAll('"role"', '"r\\u006fle"'),
  (text) => text.replaceAll(':', ' :\n\t'),
  (text) => text.replaceAll('"', "'"),
  (text, at) =>
    Buffer.concat([Buffer.from(text.slice(0, at % text.length)), Buffer.from([0xc0, 0xaf]), Buffer.from(text)]),
  (text) => Buffer.from(text, 'utf16le'),
];

const anyBody = (api: UpstreamDialect): fc.Arbitrary<Buffer> =>
  fc.oneof(
    { weight: 12, arbitrary: plausible(api).map(toBuffer) },
    {
      weight: 8,
      arbitrary: fc.tuple(plausible(api), fc.array(anyMutation, { minLength: 1, maxLength: 2 })).map(mutated),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(plausible(api), fc.constantFrom(...TEXT_TWISTS), fc.nat(100_000))
        .map(([body, twist, at]) => Buffer.from(twist(JSON.stringify(body), at) as Buffer)),
    },
    { weight: 1, arbitrary: anyJson.map(toBuffer) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
  );

const toBuffer = (value: Json): Buffer => Buffer.from(JSON.stringify(value));

function mutated([body, mutations]: [Record<string, Json>, Mutation[]]): Buffer {
  const changed = structuredClone(body);
  // Values come from a common stock, and one that is put into itself would never end.
  for (const mutation of mutations) mutate(changed, structuredClone(mutation));
  return toBuffer(changed);
}

const anyHeaders: fc.Arbitrary<FuzzRequest['headers']> = fc.subarray(
  [
    ['X-Session-Id', 's'.repeat(300)],
    ['X-Session-Id', 'conversation-1'],
    ['X-Sluice-Metadata', 'enabled'],
    ['X-Sluice-Metadata', 'maybe'],
    ['X-Request-Id', '../../etc/passwd'],
    ['Accept', 'text/event-stream'],
    ['Accept', 'image/png'],
    ['Accept-Encoding', 'br, gzip'],
    ['Anthropic-Version', '1999-01-01'],
    ['Anthropic-Beta', 'anything,at-all'],
    ['HTTP-Referer', 'javascript:alert(1)'],
    ['X-Title', 'Fuzz \u00fc'],
    ['X-Forwarded-For', '127.0.0.1'],
    ['Idempotency-Key', 'k'.repeat(300)],
    ['Cookie', 'session=1; session=2'],
  ],
  { maxLength: 3 },
);

const JSON_TYPE = ['Content-Type', 'application/json'] as const;
const anyContentType: fc.Arbitrary<FuzzRequest['headers']> = oneIn<FuzzRequest['headers']>(
  20,
  fc.constantFrom<FuzzRequest['headers'][number][]>(
    [],
    [['Content-Type', 'text/plain']],
    [['Content-Type', 'application/json; charset=utf-16']],
    [['Content-Type', 'multipart/form-data; boundary=x']],
    [JSON_TYPE, ['Content-Encoding', 'gzip']],
  ),
  fc.constant([JSON_TYPE]),
);

/** What no well-behaved client sends. */
const anyRawHeaders: fc.Arbitrary<FuzzRequest['headers']> = fc.subarray(
  [
    ['X-Session-Id', '\x80\xff'],
    ['X-Sluice-Metadata', 'enabled, enabled'],
    ['Accept', ''],
    ['Content-Type', 'text/plain'],
    ['Transfer-Encoding', 'chunked'],
    ['X-Long', 'x'.repeat(9_000)],
    ['Expect', 'nothing'],
  ],
  { maxLength: 2 },
);

/** A request to one of the three APIs: sensible, nearly sensible, or neither. The caller's credential is good. */
export const anyFuzzRequest: fc.Arbitrary<FuzzRequest> = fc
  .constantFrom<UpstreamDialect>('chat', 'responses', 'messages')
  .chain((api) =>
    fc
      .tuple(anyBody(api), anyContentType, anyHeaders, oneIn(25, anyRawHeaders, fc.constant(null)))
      .map(([body, type, headers, raw]) => ({
        api,
        body,
        headers: [...type, ...headers, ...(raw ?? [])],
        isRaw: raw !== null,
      })),
  );
