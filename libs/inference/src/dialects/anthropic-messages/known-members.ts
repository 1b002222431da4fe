import { allOf, KnownByType, type KnownMembers } from '../known-members';
import { MESSAGES_GATEWAY_MEMBERS, UNSERVED_MEMBER } from './gateway-members';

const MARK: KnownMembers = { cache_control: allOf(['ttl']) };

/** Blocks hold blocks: results of tools, documents and search results do. */
const BLOCK_TYPES: Record<string, KnownMembers> = {};
const BLOCKS = new KnownByType(BLOCK_TYPES);
const FILE = new KnownByType({
  base64: allOf(['media_type', 'data']),
  text: allOf(['media_type', 'data']),
  url: allOf(['url']),
  file: allOf(['file_id']),
  content: { content: BLOCKS },
});
const CITATIONS = new KnownByType({
  web_search_result_location: allOf(['url', 'title', 'cited_text', 'encrypted_index']),
});
Object.assign(BLOCK_TYPES, {
  text: { text: true, citations: CITATIONS, ...MARK },
  image: { source: FILE, ...MARK },
  document: { source: FILE, ...allOf(['title', 'context', 'citations']), ...MARK },
  tool_use: { ...allOf(['id', 'name', 'input']), caller: new KnownByType({ direct: {} }), ...MARK },
  tool_result: { ...allOf(['tool_use_id', 'is_error']), content: BLOCKS, ...MARK },
  thinking: allOf(['thinking', 'signature']),
  redacted_thinking: allOf(['data']),
  search_result: { ...allOf(['source', 'title', 'citations']), content: BLOCKS, ...MARK },
  compaction: { ...allOf(['content', 'encrypted_content']), ...MARK },
});

const MODE = allOf(['disable_parallel_tool_use']);
const TOOL: KnownMembers = { ...allOf(['name', 'description', 'input_schema', 'strict']), ...MARK };
const SETTINGS = 'model stream temperature top_p top_k max_tokens stop_sequences service_tier speed metadata';

/** Members of a request that are read into the canonical model, and those that do not concern the model. */
export const KNOWN_MEMBERS: KnownMembers = {
  ...allOf(MESSAGES_GATEWAY_MEMBERS.filter((name) => name !== UNSERVED_MEMBER)),
  ...allOf(SETTINGS.split(' ')),
  ...MARK,
  system: BLOCKS,
  messages: { role: true, content: BLOCKS },
  tools: new KnownByType({ custom: TOOL }, 'custom'),
  tool_choice: new KnownByType({ auto: MODE, any: MODE, none: MODE, tool: { name: true, ...MODE } }),
  output_config: {
    effort: true,
    format: new KnownByType({ json_schema: allOf(['schema', 'name']) }),
  },
  thinking: allOf(['budget_tokens', 'display']),
};
