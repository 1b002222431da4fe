import { isObject } from '@libs/json';
import { tierNamed } from '../catalogue/service-tiers';
import { outputCapMember } from '../model/output-limit';
import { toolsIn } from '../model/provider-tools';
import { accountReferenceIn } from './account-references';
import type { RouteFacts } from './route-request';

type Body = Readonly<Record<string, unknown>>;

/**
 * Returns what a body requires of an endpoint besides text: parameters, kinds of content, the longest answer, the tier,
 * the tools. Reads Chat, Responses, Messages and Embeddings bodies with the same code, because their fields do not
 * conflict. `body` is parsed and validated.
 */
export function readRouteFacts(body: unknown): RouteFacts {
  if (!isObject(body)) return {};
  const { modalities } = body;
  const media = mediaOf(body);
  const outputField = outputCapMember(body);
  return {
    parameters: parametersOf(body),
    inputModalities: [...media.kinds],
    mediaParts: media.parts,
    audioParts: media.audioParts,
    hasLinkedMedia: media.hasLink,
    outputModalities: textsIn(modalities).filter((name) => name !== 'text'),
    maxOutputTokens: numberOrNull(body[outputField]),
    maxOutputTokensField: outputField,
    serviceTier: tierOf(body),
    tools: toolsIn(body),
    accountReference: accountReferenceIn(body),
  };
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** `speed: fast` is another name for a tier; it counts unless a tier is given. */
function tierOf({ service_tier: tier, speed }: Body): string | null {
  if (typeof tier === 'string' && tierNamed(tier) === 'standard') return 'default';
  if (typeof tier === 'string' && (tier !== 'auto' || speed !== 'fast')) return tier;
  return speed === 'fast' ? 'fast' : null;
}

/** Request fields that are parameters, with their names in a model's `supported_parameters`. */
const PARAMETERS: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'top_p',
  top_k: 'top_k',
  min_p: 'min_p',
  top_a: 'top_a',
  frequency_penalty: 'frequency_penalty',
  presence_penalty: 'presence_penalty',
  repetition_penalty: 'repetition_penalty',
  max_tokens: 'max_tokens',
  max_completion_tokens: 'max_tokens',
  max_output_tokens: 'max_tokens',
  logit_bias: 'logit_bias',
  logprobs: 'logprobs',
  top_logprobs: 'top_logprobs',
  prediction: 'prediction',
  seed: 'seed',
  stop: 'stop',
  stop_sequences: 'stop',
  tools: 'tools',
  tool_choice: 'tool_choice',
  parallel_tool_calls: 'parallel_tool_calls',
  include_reasoning: 'include_reasoning',
  reasoning: 'reasoning',
  reasoning_effort: 'reasoning',
  thinking: 'reasoning',
  web_search_options: 'web_search_options',
  verbosity: 'verbosity',
};

function parametersOf(body: Body): readonly string[] {
  const found = new Set<string>();
  for (const [member, value] of Object.entries(body)) {
    if (Object.hasOwn(PARAMETERS, member) && isUsed(value)) found.add(PARAMETERS[member]!);
  }
  const text = isObject(body.text) ? body.text : {};
  if (isUsed(text.verbosity)) found.add('verbosity');
  const format = formatOf(body.response_format ?? text.format ?? body.output_format ?? outputFormat(body));
  if (format !== null) found.add(format);
  return [...found];
}

/** Returns whether a value asks for something. Absent, null, false and an empty list do not. */
function isUsed(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && !(Array.isArray(value) && value.length === 0);
}

function outputFormat({ output_config: config }: Body): unknown {
  return isObject(config) ? config.format : undefined;
}

function formatOf(format: unknown): string | null {
  const type = isObject(format) ? format.type : undefined;
  if (type === 'json_schema') return 'structured_outputs';
  return typeof type === 'string' && type !== 'text' ? 'response_format' : null;
}

/** Types of message parts in all dialects, and the kind of content that they hold. */
const MODALITIES: Readonly<Record<string, string>> = {
  image_url: 'image',
  input_image: 'image',
  image: 'image',
  input_audio: 'audio',
  video_url: 'video',
  input_video: 'video',
  file: 'file',
  input_file: 'file',
  document: 'file',
};

interface Media {
  readonly kinds: Set<string>;
  parts: number;
  audioParts: number;
  hasLink: boolean;
}

function mediaOf({ messages, input }: Body): Media {
  const found: Media = { kinds: new Set(), parts: 0, audioParts: 0, hasLink: false };
  for (const turns of [messages, input]) {
    if (!Array.isArray(turns)) continue;
    for (const turn of turns) if (isObject(turn)) readParts(turn.content, found, MOST_NESTING);
  }
  return found;
}

/** A part may be a tool result, which contains parts of its own. */
const MOST_NESTING = 2;

function readParts(content: unknown, found: Media, nesting: number): void {
  if (!Array.isArray(content) || nesting === 0) return;
  for (const part of content) {
    if (!isObject(part)) continue;
    const { type } = part;
    if (typeof type === 'string' && Object.hasOwn(MODALITIES, type)) note(part, MODALITIES[type]!, found);
    readParts(part.content, found, nesting - 1);
  }
}

function note(part: Body, kind: string, found: Media): void {
  found.kinds.add(kind);
  found.parts += 1;
  found.hasLink ||= LINK_MEMBERS.some((member) => isLinked(part[member]));
  if (kind === 'audio') found.audioParts += 1;
}

/** Fields in which the dialects have the bytes of a part or a link to them. */
const LINK_MEMBERS = ['image_url', 'video_url', 'input_video', 'file_url', 'file', 'source'];

function isLinked(media: unknown): boolean {
  const link = isObject(media) ? (media['url'] ?? media['file_data'] ?? media['data']) : media;
  return typeof link === 'string' && /^https?:/i.test(link);
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
