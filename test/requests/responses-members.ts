import fc from 'fast-check';
import { anyMarker, is, list, object, oneOf, type Json } from './any-value';
import {
  anyArguments,
  anyCacheControl,
  anyDataUrl,
  anyEffort,
  anyParameters,
  anySummary,
  anyUrl,
  anyVerbosity,
  breakpointOf,
  marks,
} from './chat-members';

const breakpoint = breakpointOf('input_text');
const text = object({ type: is('input_text'), text: anyMarker }, marks);
const image = object(
  { type: is('input_image'), image_url: fc.oneof(anyUrl, anyDataUrl('image/png')) },
  { detail: oneOf('auto', 'low', 'high', 'original'), ...marks },
);
const file = fc.oneof(
  object({ type: is('input_file'), file_data: anyDataUrl('application/pdf') }, { filename: anyMarker, ...marks }),
  object({ type: is('input_file'), file_url: anyUrl }, { filename: anyMarker }),
);
const audio = object({
  type: is('input_audio'),
  input_audio: object({ data: anyMarker, format: oneOf('wav', 'mp3') }),
});
const video = object({ type: is('input_video'), video_url: anyDataUrl('video/mp4') });

const user = object(
  { role: is('user'), content: fc.oneof(anyMarker, list(fc.oneof(text, breakpoint, image, file, audio, video))) },
  { type: is('message'), id: anyMarker, status: is('completed') },
);
const system = object({ role: oneOf('system', 'developer'), content: fc.oneof(anyMarker, list(text)) });
const citation = object({
  type: oneOf('url_citation', 'file_citation'),
  url: anyUrl,
  title: anyMarker,
  start_index: is(0),
  end_index: is(2),
});
const assistant = object(
  {
    type: is('message'),
    role: is('assistant'),
    content: list(
      fc.oneof(
        object({ type: is('output_text'), text: anyMarker }, { annotations: list(citation, 1, 1) }),
        object({ type: is('refusal'), refusal: anyMarker }),
      ),
    ),
  },
  { id: anyMarker, status: is('completed'), phase: is('final_answer') },
);
/** As each kind of provider proves its thoughts. */
const thought = fc.oneof(
  object(
    {
      type: is('reasoning'),
      summary: list(object({ type: is('summary_text'), text: anyMarker })),
      encrypted_content: anyMarker,
      format: is('openai-responses-v1'),
    },
    { id: anyMarker, status: is('completed') },
  ),
  object(
    {
      type: is('reasoning'),
      summary: is([]),
      content: list(object({ type: is('reasoning_text'), text: anyMarker })),
      signature: anyMarker,
      format: is('anthropic-claude-v1'),
    },
    { id: anyMarker },
  ),
  object({
    type: is('reasoning'),
    summary: is([]),
    encrypted_content: anyMarker,
    format: is('anthropic-claude-v1'),
  }),
);
const output = fc.oneof(anyMarker, list(fc.oneof(text, image, file)));
const round = fc
  .tuple(anyMarker, oneOf('function', 'custom'), anyMarker, anyArguments, anyMarker)
  .chain(([id, kind, name, args, words]) => {
    const said: Readonly<Record<string, string>> = kind === 'function' ? { arguments: args } : { input: words };
    const type = kind === 'function' ? 'function_call' : 'custom_tool_call';
    return fc.tuple(
      object(
        { type: is(type), call_id: is(id), name: is(name), ...Object.fromEntries(entriesOf(said)) },
        { id: anyMarker, status: is('completed'), namespace: anyMarker },
      ),
      object({ type: is(`${type}_output`), call_id: is(id), output }, { id: anyMarker, status: is('completed') }),
    );
  });
const opaque = object({ type: oneOf('web_search_call', 'compaction', 'mcp_call', 'local_shell_call'), id: anyMarker });

function entriesOf(said: Readonly<Record<string, string>>): (readonly [string, fc.Arbitrary<Json>])[] {
  return Object.entries(said).map(([name, value]) => [name, is(value)]);
}

const some = (item: fc.Arbitrary<Json>, maxLength = 1): fc.Arbitrary<readonly Json[]> => fc.array(item, { maxLength });

const functionTool = object(
  { type: is('function'), name: anyMarker },
  { description: anyMarker, parameters: anyParameters, strict: fc.boolean(), cache_control: anyCacheControl },
);
const customTool = object(
  { type: is('custom'), name: anyMarker },
  {
    description: anyMarker,
    format: fc.oneof(
      object({ type: is('text') }),
      object({ type: is('grammar'), syntax: is('lark'), definition: anyMarker }),
    ),
  },
);
const providerTool = fc.oneof(
  object({ type: is('file_search'), vector_store_ids: list(anyMarker) }),
  object({ type: is('code_interpreter'), container: object({ type: is('auto') }) }),
  object({ type: is('local_shell') }),
);

/** Values of what the OpenAPI document only says to be objects, lists of objects or words. */
export const RESPONSES_MEMBERS: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  input: fc.oneof(
    anyMarker,
    fc
      .tuple(some(system), some(user, 2), some(thought), some(assistant), fc.oneof(is([]), round), some(opaque), user)
      .map((parts) => parts.flat()),
  ),
  tools: list(fc.oneof(functionTool, functionTool, customTool, providerTool)),
  tool_choice: oneOf('auto', 'none'),
  text: object(
    {},
    {
      verbosity: anyVerbosity,
      format: fc.oneof(
        object({ type: oneOf('text', 'json_object') }),
        object(
          { type: is('json_schema'), name: anyMarker, schema: anyParameters },
          { description: anyMarker, strict: fc.boolean() },
        ),
      ),
    },
  ),
  reasoning: object(
    {},
    {
      effort: anyEffort,
      summary: anySummary,
      enabled: fc.boolean(),
      max_tokens: fc.integer({ min: 1_024, max: 9_000 }),
      context: is('auto'),
      mode: is('pro'),
    },
  ),
  include: fc.subarray(
    ['reasoning.encrypted_content', 'message.output_text.logprobs', 'code_interpreter_call.outputs'],
    { minLength: 1 },
  ),
  modalities: fc.subarray(['text', 'image'], { minLength: 1 }),
  plugins: list(object({ id: is('web') }), 1, 1),
  debug: object({ echo_upstream_body: is(false) }),
  prompt: object({ id: anyMarker }, { version: anyMarker, variables: object({ city: anyMarker }) }),
  deferred_tools: object({ search: object({ type: is('bm25') }) }),
  image_config: object({}, { aspect_ratio: is('16:9'), image_size: is('2K') }),
  prompt_cache_options: object({ mode: is('explicit') }, { ttl: is('1h') }),
  cache_control: anyCacheControl,
  stop_server_tools_when: list(object({ type: is('step_count_is'), step_count: is(3) }), 1, 1),
  trace: object({}, { trace_id: anyMarker, span_name: anyMarker }),
  provider: object({}, { allow_fallbacks: fc.boolean() }),
};
