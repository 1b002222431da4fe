import fc from 'fast-check';
import { anyMarker, is, list, object, oneOf, type Json } from './any-value';
import { anyCacheControl, anyEffort, anyParameters, anyUrl } from './chat-members';

const mark = { cache_control: anyCacheControl };
const cited = list(
  fc.oneof(
    object({
      type: is('web_search_result_location'),
      url: anyUrl,
      title: anyMarker,
      cited_text: anyMarker,
      encrypted_index: anyMarker,
    }),
    object({
      type: is('char_location'),
      cited_text: anyMarker,
      document_index: is(0),
      document_title: anyMarker,
      start_char_index: is(0),
      end_char_index: is(5),
    }),
  ),
  1,
  1,
);
const text = object({ type: is('text'), text: anyMarker }, mark);
const citedText = object({ type: is('text'), text: anyMarker }, { ...mark, citations: cited });
const image = object(
  {
    type: is('image'),
    source: fc.oneof(
      object({ type: is('base64'), media_type: is('image/png'), data: anyMarker }),
      object({ type: is('url'), url: anyUrl }),
    ),
  },
  mark,
);
const document = object(
  {
    type: is('document'),
    source: fc.oneof(
      object({ type: is('base64'), media_type: is('application/pdf'), data: anyMarker }),
      object({ type: is('text'), media_type: is('text/plain'), data: anyMarker }),
      object({ type: is('url'), url: anyUrl }),
      object({ type: is('content'), content: list(fc.oneof(text, image)) }),
    ),
  },
  { ...mark, title: anyMarker, context: anyMarker, citations: object({ enabled: fc.boolean() }) },
);
const searchResult = object(
  { type: is('search_result'), source: anyUrl, title: anyMarker, content: list(text) },
  { ...mark, citations: object({ enabled: fc.boolean() }) },
);
const thinking = object({ type: is('thinking'), thinking: anyMarker, signature: anyMarker });
const redacted = object({ type: is('redacted_thinking'), data: anyMarker });
const compaction = object({ type: is('compaction'), content: anyMarker }, mark);

const user = object({
  role: is('user'),
  content: fc.oneof(anyMarker, list(fc.oneof(text, text, image, document, searchResult))),
});
const assistant = object({
  role: is('assistant'),
  content: fc.oneof(
    anyMarker,
    fc.tuple(fc.array(fc.oneof(thinking, redacted, compaction), { maxLength: 1 }), citedText).map((one) => one.flat()),
  ),
});
const round = anyMarker.chain((id) =>
  fc.tuple(
    object({
      role: is('assistant'),
      content: object(
        { type: is('tool_use'), id: is(id), name: anyMarker, input: object({ city: anyMarker }) },
        {
          ...mark,
          caller: fc.oneof(
            object({ type: is('direct') }),
            object({ type: is('code_execution_20250825'), tool_id: anyMarker }),
          ),
        },
      ).map((call) => [call]),
    }),
    object({
      role: is('user'),
      content: object(
        { type: is('tool_result'), tool_use_id: is(id) },
        {
          ...mark,
          content: fc.oneof(anyMarker, list(fc.oneof(text, image, document, searchResult))),
          is_error: is(true),
        },
      ).map((result) => [result]),
    }),
  ),
);

const some = (message: fc.Arbitrary<Json>, maxLength = 1): fc.Arbitrary<readonly Json[]> =>
  fc.array(message, { maxLength });

const tool = fc.oneof(
  object(
    { name: anyMarker, input_schema: anyParameters },
    {
      ...mark,
      type: is('custom'),
      description: anyMarker,
      strict: fc.boolean(),
      eager_input_streaming: is(true),
      defer_loading: is(true),
      input_examples: list(object({ city: anyMarker })),
      allowed_callers: list(is('direct'), 1, 1),
    },
  ),
  object({ type: oneOf('bash_20250124', 'text_editor_20250728', 'memory_20250818'), name: anyMarker }, mark),
);

/** Values of what the OpenAPI document only says to be objects, lists of objects or words. */
export const MESSAGES_MEMBERS: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  messages: fc.tuple(some(user, 2), some(assistant), fc.oneof(is([]), round), user).map((parts) => parts.flat()),
  system: fc.oneof(anyMarker, list(text)),
  tools: list(tool),
  mcp_servers: list(object({ type: is('url'), url: is('https://mcp.example/sse'), name: anyMarker }), 1, 1),
  tool_choice: object(
    { type: oneOf('auto', 'any', 'none', 'tool') },
    { disable_parallel_tool_use: fc.boolean() },
  ).chain((choice) => anyMarker.map((name) => (choice['type'] === 'tool' ? { ...choice, name } : choice))),
  thinking: fc.oneof(
    object({ type: is('enabled'), budget_tokens: fc.integer({ min: 1_024, max: 9_000 }) }, { display: is('omitted') }),
    object({ type: oneOf('disabled', 'adaptive', 'hasty') }, { display: oneOf('summarized', 'omitted') }),
  ),
  output_config: object(
    {},
    {
      effort: anyEffort,
      format: fc.oneof(object({ type: is('json_schema'), schema: anyParameters })),
      task_budget: object({ type: is('tokens'), total: is(30_000) }),
    },
  ),
  context_management: object({ edits: list(object({ type: is('clear_tool_uses_20250919') }), 1, 1) }),
  cache_control: anyCacheControl,
  metadata: object({ user_id: anyMarker }),
  plugins: list(object({ id: is('web') }), 1, 1),
  fallbacks: list(object({ model: is('acme/other') }), 1, 1),
  service_tier: oneOf('auto', 'standard_only', 'hasty'),
  stop_server_tools_when: list(object({ type: is('step_count_is'), step_count: is(3) }), 1, 1),
  trace: object({}, { trace_id: anyMarker, span_name: anyMarker }),
  provider: object({}, { allow_fallbacks: fc.boolean() }),
};
