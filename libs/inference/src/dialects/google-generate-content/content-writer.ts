import { defined } from '@libs/json';
import type { Part, ReasoningPart, ToolCallPart, ToolResultPart } from '../../model/conversation';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { isInvalidInput, toToolInput } from '../tool-input';
import { writeAudio, writeMedia, type WirePart } from './media';
import { generationOf, THIRD_GENERATION } from './traits';
import { OWN_FORMAT } from './reasoning';

type SpokenPart = Exclude<Part, { type: 'reasoning' | 'tool-call' | 'tool-result' }>;

/** Writes single parts for one upstream; logs parts that the upstream does not take. */
export class PartWriter {
  /** True if calls and results carry ids. Older models match them by order, and some of their servers refuse an id. */
  readonly #hasCallIds: boolean;
  /** True if a function result may hold media; older models refuse them. */
  readonly #hasResultMedia: boolean;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly log: LossLog,
  ) {
    const isThird = generationOf(endpoint) >= THIRD_GENERATION;
    this.#hasCallIds = isThird;
    this.#hasResultMedia = isThird;
  }

  /** Returns a part with text or media; null for an empty text, which the upstream refuses. */
  spoken(part: SpokenPart): WirePart | null {
    this.#noteLosses(part);
    switch (part.type) {
      case 'text':
      case 'refusal':
        return part.text === '' ? null : { text: part.text };
      case 'audio':
        return writeAudio(part.data, part.format);
      case 'image':
      case 'video':
        return this.#media(part);
      case 'file':
        return this.#file(part);
    }
  }

  /** Drops thoughts of other providers, which this upstream cannot use, signed or not. */
  thought(part: ReasoningPart): WirePart | null {
    const { text, signature, encrypted, format } = part;
    if (format !== OWN_FORMAT) {
      this.log.drop(signature === undefined && encrypted === undefined ? 'reasoning' : 'reasoning_details');
      return null;
    }
    if (text === undefined && signature === undefined) return null;
    return { text: text ?? '', thought: true, ...defined({ thoughtSignature: signature }) };
  }

  call({ id, name, arguments: text }: ToolCallPart): WirePart {
    const args = toToolInput(text);
    if (isInvalidInput(args)) this.log.approximate('arguments');
    return { functionCall: { ...(this.#hasCallIds && { id }), name, args } };
  }

  /** Returns a tool result, followed by the media that it cannot hold. */
  result({ callId, parts, isError, cache }: ToolResultPart, name: string): readonly WirePart[] {
    if (cache || parts.some((part) => part.cache !== undefined)) this.log.drop('cache_control');
    const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    const media = parts
      .map((part) => (part.type === 'text' ? null : this.spoken(part)))
      .filter((part) => part !== null);
    const isInside = (part: WirePart): boolean => this.#hasResultMedia && 'inlineData' in part;
    const inside = media.filter(isInside);
    const beside = media.filter((part) => !isInside(part));
    if (beside.length > 0) this.log.approximate('messages.tool_result');
    const functionResponse = {
      ...(this.#hasCallIds && { id: callId }),
      name,
      response: { [isError ? 'error' : 'output']: texts.join('') },
      ...(inside.length > 0 && { parts: inside }),
    };
    return [{ functionResponse }, ...beside];
  }

  #media(part: Extract<SpokenPart, { type: 'image' | 'file' | 'video' }>, filename?: string): WirePart | null {
    const written = writeMedia(part.source, part.type, this.endpoint, filename);
    if (written === null) this.log.drop(part.type);
    return written;
  }

  #file(part: Extract<SpokenPart, { type: 'file' }>): WirePart | null {
    const written = this.#media(part, part.filename);
    // Only the name is lost. `approximate` does not fail requests that allow no loss; `drop` would.
    if (written !== null && part.filename !== undefined) this.log.approximate('messages.file.filename');
    return written;
  }

  #noteLosses(part: SpokenPart): void {
    if ('cache' in part && part.cache !== undefined) this.log.drop('cache_control');
    if (part.type === 'text' && part.annotations) this.log.drop('annotations');
    if (part.type === 'image' && part.detail !== undefined && part.detail !== 'auto') this.log.drop('detail');
    if (part.type === 'refusal') this.log.approximate('refusal');
  }
}
