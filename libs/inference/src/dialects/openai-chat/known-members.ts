import { allOf, KnownByType, type KnownMembers } from '../known-members';
import { CHAT_GATEWAY_MEMBERS } from './gateway-members';

const MARKS: KnownMembers = { cache_control: allOf(['ttl']), prompt_cache_breakpoint: allOf(['mode']) };
const IMAGE: KnownMembers = { image_url: allOf(['url', 'detail']), ...MARKS };
const VIDEO: KnownMembers = { video_url: allOf(['url']), ...MARKS };
const PARTS = new KnownByType({
  text: { text: true, ...MARKS },
  refusal: { refusal: true, ...MARKS },
  image_url: IMAGE,
  input_audio: { input_audio: allOf(['data', 'format']), ...MARKS },
  file: { file: allOf(['file_data', 'file_id', 'filename']), ...MARKS },
  video_url: VIDEO,
  input_video: VIDEO,
});
const THOUGHT = allOf(['text', 'signature', 'summary', 'data', 'id', 'format', 'index']);
/** Formats of the text that a custom tool takes. */
const FORMATS = new KnownByType({ text: {}, grammar: { grammar: allOf(['syntax', 'definition']) } });
const CUSTOM: KnownMembers = { ...allOf(['name', 'description']), format: FORMATS };
const CHOICES = { function: { function: allOf(['name']) }, custom: { custom: allOf(['name']) } };
const FUNCTION = allOf(['name', 'description', 'parameters', 'strict']);
const SCHEMA = allOf(['name', 'schema', 'description', 'strict']);

export const REASONING_MEMBERS = allOf(['enabled', 'effort', 'max_tokens', 'summary', 'exclude']);

const MESSAGE: KnownMembers = {
  content: PARTS,
  reasoning_details: new KnownByType({
    'reasoning.text': THOUGHT,
    'reasoning.summary': THOUGHT,
    'reasoning.encrypted': THOUGHT,
  }),
  images: { ...IMAGE, index: true },
  tool_calls: { id: true, index: true, function: allOf(['name', 'arguments']), custom: allOf(['name', 'input']) },
  ...allOf(['role', 'name', 'tool_call_id', 'refusal', 'reasoning', 'reasoning_content']),
  ...allOf(['audio', 'annotations', 'function_call']),
  ...MARKS,
};

const SETTINGS =
  'parallel_tool_calls temperature top_p top_k min_p top_a frequency_penalty presence_penalty repetition_penalty seed ' +
  'logit_bias max_tokens max_completion_tokens stop n reasoning_effort logprobs top_logprobs verbosity modalities ' +
  'prompt_cache_key service_tier metadata user safety_identifier';

/** Members of a request that are read into the canonical model, and those that do not concern the model. */
export const KNOWN_MEMBERS: KnownMembers = {
  ...allOf(CHAT_GATEWAY_MEMBERS),
  ...allOf(['model', 'stream', 'stream_options']),
  ...allOf(SETTINGS.split(' ')),
  ...MARKS,
  messages: MESSAGE,
  tools: new KnownByType({ function: { function: FUNCTION, ...MARKS }, custom: { custom: CUSTOM, ...MARKS } }),
  tool_choice: new KnownByType({
    ...CHOICES,
    allowed_tools: { allowed_tools: { mode: true, tools: new KnownByType(CHOICES) } },
  }),
  response_format: new KnownByType({ text: {}, json_object: {}, json_schema: { json_schema: SCHEMA } }),
  reasoning: REASONING_MEMBERS,
};
