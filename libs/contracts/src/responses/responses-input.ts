import { findCacheMarkProblem } from '../inference/cache-control';
import { findElementsProblem, oneOf, text, type MemberCheck } from '../validation/member-checks';
import { findMediaLinkProblem, isBase64 } from '../links/media-links';
import { isNonEmptyString, isPlainObject } from '../validation/well-formed';
import { SchemaBudget } from './json-schema-limits';
import { findListedToolsProblem } from './responses-tools';

const ROLES = ['user', 'system', 'assistant', 'developer'];
const MAX_ITEMS = 100_000;
const MAX_PARTS = 10_000;
const MAX_NAME = 256;

type Fields = Record<string, unknown>;

/** Items that are passed on unchanged, because only a provider or a tool knows their content. */
const OPAQUE_ITEMS = new Set([
  'web_search_call',
  'file_search_call',
  'image_generation_call',
  'code_interpreter_call',
  'computer_call',
  'computer_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_call',
  'tool_search_call',
  'compaction',
  'context_compaction',
  'agent_message',
  'configuration_update',
]);

/** Type of an item that one of our server tools left in an earlier answer. */
const SERVER_TOOL_ITEM = /^[a-z][a-z0-9_-]{0,31}:[a-z_]{1,64}$/;

const ITEM_CHECKS: Readonly<Record<string, (item: Fields, schemas: SchemaBudget) => string | null>> = {
  message: findMessageProblem,
  function_call: (item) => required(item, ['call_id', 'name']) ?? stringMember(item, 'arguments'),
  custom_tool_call: (item) => required(item, ['call_id', 'name']) ?? stringMember(item, 'input'),
  function_call_output: findOutputProblem,
  custom_tool_call_output: findOutputProblem,
  reasoning: findReasoningProblem,
  additional_tools: findBroughtToolsProblem,
  tool_search_output: findBroughtToolsProblem,
  item_reference: () => '.type must not be item_reference: nothing is stored, send the item itself',
};

const PART_CHECKS: Readonly<Record<string, (part: Fields) => string | null>> = {
  input_text: (part) => stringMember(part, 'text'),
  output_text: (part) => stringMember(part, 'text'),
  refusal: (part) => stringMember(part, 'refusal'),
  input_image: findImageProblem,
  input_file: findFileProblem,
  input_audio: findAudioProblem,
  input_video: (part) => at('.video_url', findMediaLinkProblem(part['video_url'])),
};

/** Checks `input`: text, or items that are each of a known kind. */
export function findResponsesInputProblem(input: unknown): string | null {
  if (typeof input === 'string') return input === '' ? ' must not be empty' : null;
  if (!Array.isArray(input)) return ' must be text or an array of items';
  const schemas = new SchemaBudget();
  return findElementsProblem(input, 1, MAX_ITEMS, (item) => findItemProblem(item, schemas));
}

function findItemProblem(item: unknown, schemas: SchemaBudget): string | null {
  if (!isPlainObject(item)) return ' must be an object';
  const type = item['type'] ?? 'message';
  if (typeof type !== 'string') return '.type must be text';
  if (Object.hasOwn(ITEM_CHECKS, type)) return ITEM_CHECKS[type]!(item, schemas);
  return OPAQUE_ITEMS.has(type) || SERVER_TOOL_ITEM.test(type) ? null : '.type is no known kind of item';
}

/** Checks items that define more tools, sent with the request or found by a search of the caller. */
function findBroughtToolsProblem(item: Fields, schemas: SchemaBudget): string | null {
  return at('.tools', findListedToolsProblem(item['tools'], schemas));
}

function findMessageProblem(item: Fields): string | null {
  const { role, content } = item;
  if (typeof role !== 'string' || !ROLES.includes(role)) return `.role must be one of ${ROLES.join(', ')}`;
  if (content === null && role === 'assistant') return null;
  return findContentProblem(content, '.content');
}

function findContentProblem(content: unknown, path: string): string | null {
  if (typeof content === 'string') return null;
  if (!Array.isArray(content)) return `${path} must be text or an array of parts`;
  return at(path, findElementsProblem(content, 0, MAX_PARTS, findPartProblem));
}

function findPartProblem(part: unknown): string | null {
  if (!isPlainObject(part)) return ' must be an object';
  const { type } = part;
  if (typeof type !== 'string' || !Object.hasOwn(PART_CHECKS, type)) return '.type is no known kind of content';
  return findCacheMarkProblem(part) ?? PART_CHECKS[type]!(part);
}

function findOutputProblem(item: Fields): string | null {
  return required(item, ['call_id']) ?? findContentProblem(item['output'], '.output');
}

function findReasoningProblem(item: Fields): string | null {
  for (const name of ['summary', 'content']) {
    const list = item[name];
    if (list === undefined || list === null) continue;
    const isText: MemberCheck = (part) =>
      isPlainObject(part) && typeof part['text'] === 'string' ? null : '.text must be text';
    const problem = findElementsProblem(list, 0, MAX_PARTS, isText);
    if (problem !== null) return `.${name}${problem}`;
  }
  for (const name of ['encrypted_content', 'signature', 'format', 'id']) {
    const value = item[name];
    if (value !== undefined && value !== null && typeof value !== 'string') return `.${name} must be text`;
  }
  return null;
}

const isDetail = oneOf('auto', 'low', 'high', 'original');

function findImageProblem(part: Fields): string | null {
  const { image_url: url, file_id: fileId, detail } = part;
  if (detail !== undefined && detail !== null && isDetail(detail) !== null) return at('.detail', isDetail(detail));
  if (url === undefined || url === null) return isNonEmptyString(fileId) ? null : '.image_url is required';
  return at('.image_url', findMediaLinkProblem(url));
}

const isFilename = text(1, MAX_NAME);

function findFileProblem(part: Fields): string | null {
  const filename = part['filename'];
  const problem = filename === undefined || filename === null ? null : at('.filename', isFilename(filename));
  if (problem !== null) return problem;
  const url = part['file_url'];
  return url === undefined || url === null ? findFileDataProblem(part) : at('.file_url', findMediaLinkProblem(url));
}

function findFileDataProblem({ file_data: data, file_id: fileId }: Fields): string | null {
  if (data === undefined || data === null) return isNonEmptyString(fileId) ? null : '.file_data is required';
  if (typeof data !== 'string') return '.file_data must be base64';
  if (/^data:/i.test(data)) return at('.file_data', findMediaLinkProblem(data));
  return isBase64(data) ? null : '.file_data must be base64';
}

const isAudioFormat = oneOf('mp3', 'wav');

function findAudioProblem(part: Fields): string | null {
  const audio = part['input_audio'];
  if (!isPlainObject(audio)) return '.input_audio must be an object';
  if (typeof audio['data'] !== 'string' || !isBase64(audio['data'])) return '.input_audio.data must be base64';
  return at('.input_audio.format', isAudioFormat(audio['format']));
}

function required(item: Fields, names: readonly string[]): string | null {
  const missing = names.find((name) => !isNonEmptyString(item[name]));
  return missing === undefined ? null : `.${missing} must be a non-empty string`;
}

function stringMember(item: Fields, name: string): string | null {
  return typeof item[name] === 'string' ? null : `.${name} must be text`;
}

function at(path: string, problem: string | null): string | null {
  return problem === null ? null : `${path}${problem}`;
}
