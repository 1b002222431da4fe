import { anyMarker, is, list, object, oneOf, type Json } from './any-value';
import fc from 'fast-check';

export const anyUrl = anyMarker.map((word) => `https://files.example/${word}.png`);
export const anyDataUrl = (type: string): fc.Arbitrary<string> =>
  anyMarker.map((word) => `data:${type};base64,${word}`);
export const anyArguments = anyMarker.map((word) => JSON.stringify({ city: word }));
export const anyParameters = object({
  type: is('object'),
  properties: fc.dictionary(anyMarker, object({ type: is('string'), description: anyMarker }) as fc.Arbitrary<Json>, {
    minKeys: 1,
    maxKeys: 1,
    noNullPrototype: true,
  }) as fc.Arbitrary<Json>,
});
export const anyCacheControl = object({ type: is('ephemeral') }, { ttl: oneOf('5m', '1h') });
export const anyEffort = oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'colossal');
export const anyVerbosity = oneOf('low', 'medium', 'high', 'endless');
export const anySummary = oneOf('auto', 'concise', 'detailed', 'rhymed');

export const marks = { cache_control: anyCacheControl };
/** Returns a text with OpenAI's own mark, which is not read next to the other. `type` is that of a text part. */
export const breakpointOf = (type: string): fc.Arbitrary<Json> =>
  object({ type: is(type), text: anyMarker, prompt_cache_breakpoint: object({ mode: is('explicit') }) });

const breakpoint = breakpointOf('text');
const text = object({ type: is('text'), text: anyMarker }, marks);
const image = object(
  {
    type: is('image_url'),
    image_url: object(
      { url: fc.oneof(anyUrl, anyDataUrl('image/png')) },
      { detail: oneOf('auto', 'low', 'high', 'original') },
    ),
  },
  marks,
);
const file = object(
  { type: is('file'), file: object({ file_data: anyDataUrl('application/pdf') }, { filename: anyMarker }) },
  marks,
);
const audio = object(
  { type: is('input_audio'), input_audio: object({ data: anyMarker, format: oneOf('wav', 'mp3') }) },
  marks,
);
const video = object({ type: is('video_url'), video_url: object({ url: anyDataUrl('video/mp4') }) }, marks);
const name = { name: anyMarker };

const user = object(
  { role: is('user'), content: fc.oneof(anyMarker, list(fc.oneof(text, breakpoint, image, file, audio, video))) },
  name,
);
const system = object({ role: oneOf('system', 'developer'), content: fc.oneof(anyMarker, list(text)) }, name);
const details = fc.oneof(
  object(
    { type: is('reasoning.text'), text: anyMarker },
    { signature: anyMarker, id: anyMarker, format: oneOf('anthropic-claude-v1', 'unknown'), index: is(0) },
  ),
  object({ type: is('reasoning.summary'), summary: anyMarker }, { id: anyMarker, format: is('openai-responses-v1') }),
  object({ type: is('reasoning.encrypted'), data: anyMarker }, { id: anyMarker, format: is('openai-responses-v1') }),
  object({ type: is('reasoning.server_tool_call'), data: anyMarker }),
);
const assistant = object(
  { role: is('assistant'), content: fc.oneof(anyMarker, list(text)) },
  {
    ...name,
    refusal: anyMarker,
    reasoning: anyMarker,
    reasoning_details: list(details),
    images: list(image, 1, 1),
    audio: object({ id: anyMarker }),
    annotations: list(
      object({
        type: is('url_citation'),
        url_citation: object({ url: anyUrl, title: anyMarker, start_index: is(0), end_index: is(2) }),
      }),
      1,
      1,
    ),
  },
);

const customCall = (id: Json, name: Json, input: Json): Json => ({ id, type: 'custom', custom: { name, input } });

/** A turn with a call and its result: a result without its call is refused by some APIs. */
const round = fc
  .tuple(anyMarker, anyMarker, anyArguments, object({}, { content: anyMarker, ...name }), fc.boolean())
  .chain(([id, called, args, more, isCustom]) =>
    fc.tuple(
      fc.constant<Json>({
        role: 'assistant',
        ...more,
        tool_calls: [
          isCustom
            ? customCall(id, called, args)
            : { id, type: 'function', function: { name: called, arguments: args } },
        ],
      }),
      object(
        {
          role: is('tool'),
          tool_call_id: fc.constant(id),
          content: fc.oneof(anyMarker, list(fc.oneof(text, image, file))),
        },
        { cache_control: anyCacheControl },
      ),
    ),
  );
const some = (message: fc.Arbitrary<Json>, maxLength: number): fc.Arbitrary<readonly Json[]> =>
  fc.array(message, { maxLength });

const tool = object(
  {
    type: is('function'),
    function: object({ name: anyMarker }, { description: anyMarker, parameters: anyParameters, strict: fc.boolean() }),
  },
  { cache_control: anyCacheControl },
);

const customTool = object({
  type: is('custom'),
  custom: object(
    { name: anyMarker },
    {
      description: anyMarker,
      format: fc.oneof(
        object({ type: is('text') }),
        object({ type: is('grammar'), grammar: object({ syntax: is('lark'), definition: anyMarker }) }),
      ),
    },
  ),
});

/** Values of what the OpenAPI document only says to be objects, lists of objects or words. */
export const CHAT_MEMBERS: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  messages: fc
    .tuple(some(system, 1), some(user, 2), some(assistant, 1), fc.oneof(fc.constant([]), round), user)
    .map((parts) => parts.flat()),
  stream_options: object({ include_usage: fc.boolean() }),
  reasoning: object(
    {},
    {
      effort: anyEffort,
      summary: anySummary,
      enabled: fc.boolean(),
      max_tokens: fc.integer({ min: 1_024, max: 9_000 }),
      exclude: fc.boolean(),
      context: is('auto'),
      mode: is('pro'),
    },
  ),
  reasoning_effort: anyEffort,
  verbosity: anyVerbosity,
  modalities: fc.subarray(['text', 'image', 'audio'], { minLength: 1 }),
  prediction: object({
    type: is('content'),
    content: fc.oneof(anyMarker, list(object({ type: is('text'), text: anyMarker }))),
  }),
  debug: object({ echo_upstream_body: is(false) }),
  plugins: list(object({ id: is('web') }), 1, 1),
  tools: list(fc.oneof(tool, tool, customTool)),
  tool_choice: fc.oneof(
    oneOf('auto', 'none', 'required'),
    object({ type: is('function'), function: object({ name: anyMarker }) }),
    object({ type: is('custom'), custom: object({ name: anyMarker }) }),
    object({
      type: is('allowed_tools'),
      allowed_tools: object({
        mode: oneOf('auto', 'required'),
        tools: list(object({ type: is('function'), function: object({ name: anyMarker }) })),
      }),
    }),
  ),
  response_format: fc.oneof(
    object({ type: oneOf('text', 'json_object') }),
    object({ type: is('grammar'), grammar: anyMarker }),
    object({
      type: is('json_schema'),
      json_schema: object({ name: anyMarker, schema: anyParameters }, { description: anyMarker, strict: fc.boolean() }),
    }),
  ),
  image_config: object({}, { aspect_ratio: is('16:9'), image_size: is('2K') }),
  prompt_cache_options: object({ mode: is('explicit') }, { ttl: is('1h') }),
  cache_control: anyCacheControl,
  stop_server_tools_when: list(object({ type: is('step_count_is'), step_count: is(3) }), 1, 1),
  trace: object({}, { trace_id: anyMarker, span_name: anyMarker }),
  provider: object({}, { allow_fallbacks: fc.boolean() }),
};
