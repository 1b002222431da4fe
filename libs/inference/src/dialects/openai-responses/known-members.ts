import { allOf, KnownByType, type KnownMembers } from '../known-members';

const MARKS: KnownMembers = { cache_control: allOf(['ttl']), prompt_cache_breakpoint: allOf(['mode']) };
const ANNOTATIONS = new KnownByType({
  url_citation: allOf(['url', 'title', 'start_index', 'end_index', 'content']),
});
const TEXT: KnownMembers = { ...allOf(['text', 'logprobs']), annotations: ANNOTATIONS, ...MARKS };
const PARTS = new KnownByType({
  input_text: TEXT,
  output_text: TEXT,
  text: TEXT,
  refusal: allOf(['refusal']),
  input_image: { ...allOf(['image_url', 'file_id', 'detail']), ...MARKS },
  input_file: { ...allOf(['file_data', 'file_url', 'file_id', 'filename']), ...MARKS },
  input_audio: { input_audio: allOf(['data', 'format']) },
  input_video: allOf(['video_url']),
});

const ITEM = allOf(['id', 'status']);
const CALL: KnownMembers = { ...ITEM, ...allOf(['call_id', 'name', 'namespace']) };
const OUTPUT: KnownMembers = { ...ITEM, call_id: true, output: PARTS };
const THOUGHT: KnownMembers = { text: true };
const ITEMS = new KnownByType(
  {
    message: { ...ITEM, ...allOf(['role', 'phase']), content: PARTS },
    function_call: { ...CALL, arguments: true },
    custom_tool_call: { ...CALL, input: true },
    function_call_output: OUTPUT,
    custom_tool_call_output: OUTPUT,
    reasoning: {
      ...ITEM,
      ...allOf(['signature', 'encrypted_content', 'format']),
      summary: THOUGHT,
      content: THOUGHT,
    },
  },
  'message',
);

const TOOLS = {
  function: { ...allOf(['name', 'description', 'parameters', 'strict']), ...MARKS },
  custom: {
    ...allOf(['name', 'description']),
    format: new KnownByType({ text: {}, grammar: allOf(['syntax', 'definition']) }),
    ...MARKS,
  },
};
const CHOSEN = allOf(['name', 'namespace']);
const CHOICES = { function: CHOSEN, custom: CHOSEN, namespace: CHOSEN };

const SETTINGS =
  'instructions parallel_tool_calls temperature top_p top_k frequency_penalty presence_penalty max_output_tokens ' +
  'top_logprobs modalities prompt_cache_key service_tier metadata user safety_identifier';
/** Read by the gateway, or asking for no more than the default. */
const OTHERS =
  'model models provider route preset plugins session_id trace debug stream stream_options usage max_tool_calls ' +
  'stop_server_tools_when deferred_tools store background previous_response_id include truncation';

/** Members of a request that are read into the canonical model, and those that do not concern the model. */
export const KNOWN_MEMBERS: KnownMembers = {
  ...allOf(`${SETTINGS} ${OTHERS}`.split(' ')),
  cache_control: allOf(['ttl']),
  input: ITEMS,
  tools: new KnownByType({
    ...TOOLS,
    namespace: { name: true, tools: new KnownByType(TOOLS) },
  }),
  tool_choice: new KnownByType({ ...CHOICES, allowed_tools: { mode: true, tools: new KnownByType(CHOICES) } }),
  text: {
    verbosity: true,
    format: new KnownByType({
      text: {},
      json_object: {},
      json_schema: allOf(['name', 'schema', 'description', 'strict']),
    }),
  },
  reasoning: allOf(['enabled', 'effort', 'max_tokens', 'summary']),
};
