import { defined } from '@libs/json';
import type {
  CacheMark,
  FilePart,
  ImagePart,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../model/conversation';
import type { LossLog } from '../../model/loss-report';
import { nativeThinkingBlock } from './reasoning';
import { writeDocumentSource, writeImageSource } from './media';
import { isInvalidInput, toCallId, toToolInput } from '../tool-input';

export interface Block {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Returns the block of a part for an upstream; null, and a log entry, if the upstream has no such block. */
export function writePart(part: Part, log: LossLog): Block | null {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return writeText(part, log);
    case 'image':
      return writeImage(part, log);
    case 'file':
      return writeFile(part, log);
    case 'tool-call':
      return writeToolCall(part, log);
    case 'tool-result':
      return writeToolResult(part, log);
    case 'reasoning':
      return writeThoughts(part, log);
    case 'audio':
    case 'video':
      log.drop(part.type);
      return null;
  }
}

/** Leaves out text of only white space, which the upstream refuses. */
function writeText(part: Extract<Part, { type: 'text' | 'refusal' }>, log: LossLog): Block | null {
  if (part.type === 'refusal') log.approximate('refusal');
  else if (part.annotations) log.drop('annotations');
  if (part.text.trim() === '') return null;
  return { type: 'text', text: part.text, ...(part.type === 'text' && writeCache(part)) };
}

function writeImage(part: ImagePart, log: LossLog): Block | null {
  if (part.detail !== undefined && part.detail !== 'auto') log.drop('detail');
  const source = writeImageSource(part.source);
  if (source === null) log.drop('image');
  return source && { type: 'image', source, ...writeCache(part) };
}

/** Writes a file; a picture that was sent as a file becomes an image block. */
function writeFile(part: FilePart, log: LossLog): Block | null {
  const { source: from, filename } = part;
  const isPicture = from.kind === 'base64' && from.mediaType?.startsWith('image/');
  const source = isPicture ? writeImageSource(from) : writeDocumentSource(from, filename);
  if (source === null) log.drop('file');
  if (source === null || isPicture) return source && { type: 'image', source, ...writeCache(part) };
  return { type: 'document', source, ...defined({ title: filename }), ...writeCache(part) };
}

function writeToolCall(part: ToolCallPart, log: LossLog): Block {
  const input = toToolInput(part.arguments);
  if (isInvalidInput(input)) log.approximate('arguments');
  return { type: 'tool_use', id: toCallId(part.id), name: part.name, input };
}

function writeThoughts(part: ReasoningPart, log: LossLog): Block | null {
  const block = nativeThinkingBlock(part);
  if (block === null) log.drop(isProven(part) ? 'reasoning_details' : 'reasoning');
  return block && { ...block };
}

/** Returns whether a thought is signed or encrypted; thoughts of other providers are dropped in any case. */
function isProven({ signature, encrypted }: ReasoningPart): boolean {
  return signature !== undefined || encrypted !== undefined;
}

function writeToolResult(part: ToolResultPart, log: LossLog): Block {
  const content = part.parts.flatMap((each: TextPart | ImagePart | FilePart) => writePart(each, log) ?? []);
  return {
    type: 'tool_result',
    tool_use_id: toCallId(part.callId),
    ...(content.length > 0 && { content }),
    ...defined({ is_error: part.isError }),
    ...writeCache(part),
  };
}

export function writeCache({ cache }: { readonly cache?: CacheMark }): object {
  return cache === undefined ? {} : { cache_control: { type: 'ephemeral', ...cache } };
}
