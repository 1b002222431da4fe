import { createHash } from 'node:crypto';
import type {
  AudioPart,
  CacheMark,
  FilePart,
  ImagePart,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  VideoPart,
} from '../../model/conversation';
import type { LossLog } from '../../model/loss-report';
import { isInvalidInput, toToolInput } from '../tool-input';
import { DocumentNames } from './document-names';
import { documentFormat, imageFormat, videoFormat } from './media';
import type { ModelFamily } from './traits';

/** A content block with its one field, and the cache mark that follows it. */
export interface ContentBlock {
  readonly kind: 'text' | 'image' | 'document' | 'video' | 'audio' | 'toolUse' | 'toolResult' | 'reasoningContent';
  readonly value: unknown;
  readonly cache?: CacheMark;
}

/** Placeholder for text that Bedrock requires and the caller did not send. */
export const NOTHING: ContentBlock = { kind: 'text', value: '.' };

/** Writes the parts of one request as blocks. Parts that Bedrock or the model does not take are logged. */
export class ContentWriter {
  readonly #family: ModelFamily;
  readonly #log: LossLog;
  readonly #names = new DocumentNames();

  constructor(family: ModelFamily, log: LossLog) {
    this.#family = family;
    this.#log = log;
  }

  /** Returns the blocks of a part; none if Bedrock or the model does not take it. */
  write(part: Part): readonly ContentBlock[] {
    switch (part.type) {
      case 'text':
      case 'refusal':
        return this.#text(part);
      case 'image':
        return this.#image(part);
      case 'file':
        return this.#file(part);
      case 'audio':
        return this.#audio(part);
      case 'video':
        return this.#video(part);
      case 'tool-call':
        return [this.#toolUse(part)];
      case 'tool-result':
        return [this.#toolResult(part)];
      case 'reasoning':
        return this.#thoughts(part);
    }
  }

  /** Leaves out text of only white space, which Bedrock refuses. */
  #text(part: Extract<Part, { type: 'text' | 'refusal' }>): ContentBlock[] {
    if (part.type === 'refusal') this.#log.approximate('refusal');
    else if (part.annotations) this.#log.drop('annotations');
    if (part.text.trim() === '') return [];
    return [{ kind: 'text', value: part.text, ...(part.type === 'text' && marked(part)) }];
  }

  /** Bedrock takes pictures as bytes only, so a link to a picture is left out. */
  #image(part: ImagePart | FilePart): ContentBlock[] {
    if ('detail' in part && part.detail !== 'auto') this.#log.drop('detail');
    const { source } = part;
    const format = source.kind === 'base64' ? imageFormat(source) : null;
    if (source.kind !== 'base64' || format === null) return this.#dropped(part.type);
    return [{ kind: 'image', value: { format, source: { bytes: source.data } }, ...marked(part) }];
  }

  #file(part: FilePart): ContentBlock[] {
    const { source, filename } = part;
    if (source.kind !== 'base64') return this.#dropped('file');
    if (source.mediaType?.startsWith('image/')) return this.#image(part);
    if (source.mediaType?.startsWith('video/')) return this.#video(part);
    const format = documentFormat(source, filename);
    if (format === null) return this.#dropped('file');
    const value = { format, name: this.#names.next(filename), source: { bytes: source.data } };
    return [{ kind: 'document', value, ...marked(part) }];
  }

  #video(part: VideoPart | FilePart): ContentBlock[] {
    const { source } = part;
    const format = source.kind === 'base64' ? videoFormat(source) : null;
    if (source.kind !== 'base64' || format === null) return this.#dropped(part.type);
    return [{ kind: 'video', value: { format, source: { bytes: source.data } } }];
  }

  #audio({ data, format }: AudioPart): ContentBlock[] {
    return [{ kind: 'audio', value: { format, source: { bytes: data } } }];
  }

  #toolUse({ id, name, arguments: text }: ToolCallPart): ContentBlock {
    const input = toToolInput(text);
    if (isInvalidInput(input)) this.#log.approximate('arguments');
    return { kind: 'toolUse', value: { toolUseId: toToolUseId(id), name, input } };
  }

  /** Moves cache marks inside a result to its end, the only place where Bedrock takes them. */
  #toolResult({ callId, parts, isError, cache }: ToolResultPart): ContentBlock {
    const blocks = parts.flatMap((part: TextPart | ImagePart | FilePart) => this.write(part));
    const content = blocks.length > 0 ? blocks : [NOTHING];
    const mark = cache ?? blocks.findLast((block) => block.cache !== undefined)?.cache;
    const { takesToolStatus } = this.#family;
    if (isError && !takesToolStatus) this.#log.drop('is_error');
    const status = isError !== undefined && takesToolStatus ? { status: isError ? 'error' : 'success' } : {};
    const value = { toolUseId: toToolUseId(callId), content: content.map(plainBlock), ...status };
    return { kind: 'toolResult', value, ...(mark && { cache: mark }) };
  }

  /** Leaves out thoughts of another maker's model, which this one cannot use, signed or not. */
  #thoughts({ text, signature, encrypted, format }: ReasoningPart): ContentBlock[] {
    const isOwn = format !== undefined && format === this.#family.reasoningFormat;
    if (isOwn && signature !== undefined) {
      return [{ kind: 'reasoningContent', value: { reasoningText: { text: text ?? '', signature } } }];
    }
    if (isOwn && encrypted !== undefined) {
      return [{ kind: 'reasoningContent', value: { redactedContent: encrypted } }];
    }
    return this.#dropped(signature !== undefined || encrypted !== undefined ? 'reasoning_details' : 'reasoning');
  }

  #dropped(member: string): ContentBlock[] {
    this.#log.drop(member);
    return [];
  }
}

export function plainBlock({ kind, value }: ContentBlock): object {
  return { [kind]: value };
}

function marked({ cache }: { readonly cache?: CacheMark }): { readonly cache?: CacheMark } {
  return cache === undefined ? {} : { cache };
}

const TOOL_USE_ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Returns the id of a tool use in Bedrock's form. Ids of other providers may be longer or hold other characters:
 * they are replaced by a hash that is the same for the use and its result.
 */
function toToolUseId(id: string): string {
  return TOOL_USE_ID.test(id) ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
}
