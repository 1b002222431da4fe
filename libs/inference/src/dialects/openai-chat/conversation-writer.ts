import { defined } from '@libs/json';
import type {
  CacheMark,
  FilePart,
  ImagePart,
  Message,
  Part,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../model/conversation';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { writeMediaUrl } from '../../model/media-url';
import { takes } from './traits';
import { plainThought, writeDetails } from './reasoning';

type JsonMessage = Record<string, unknown>;

/** Log entry for pictures and files of tool results, which move to a user message if results can hold text only. */
const SHOWN_BY_USER = 'messages.tool_result';

/** Writes a conversation for one chat upstream. */
export class MessageWriter {
  constructor(
    private readonly endpoint: Endpoint,
    private readonly log: LossLog,
  ) {}

  /** Writes messages. Tool results must follow their calls directly, so the user's content comes after all of them. */
  write(messages: readonly Message[]): JsonMessage[] {
    const written: JsonMessage[] = [];
    let shown: object[] = [];
    for (const message of messages) {
      const results = message.parts.filter((part) => part.type === 'tool-result');
      if (message.role === 'assistant' || results.length === 0) {
        if (shown.length > 0) written.push({ role: 'user', content: shown });
        shown = [];
      }
      if (message.role === 'assistant') {
        written.push(this.#assistant(message));
        continue;
      }
      for (const result of results) {
        const { message: one, media } = this.#toolResult(result, message.name);
        written.push(one);
        shown.push(...media);
      }
      const rest = message.parts.filter((part) => part.type !== 'tool-result');
      if (results.length === 0) written.push(this.#plain(message));
      else shown.push(...this.#content(rest));
    }
    if (shown.length > 0) written.push({ role: 'user', content: shown });
    return written;
  }

  #plain({ role, parts, name }: Message): JsonMessage {
    return defined({ role: this.#role(role), content: compact(this.#content(parts)), name });
  }

  #role(role: Message['role']): string {
    if (role === 'tool') return 'user';
    if (role !== 'developer' || takes(this.endpoint, 'developer')) return role;
    this.log.approximate('developer');
    return 'system';
  }

  #assistant({ parts, name }: Message): JsonMessage {
    const content = this.#content(parts.filter(({ type }) => type === 'text' || type === 'audio' || type === 'file'));
    const refusal = parts.flatMap((part) => (part.type === 'refusal' ? [part.text] : [])).join('');
    const calls = parts.filter((part) => part.type === 'tool-call').map(writeToolCall);
    const isSilent = content.length === 0 && (calls.length > 0 || refusal !== '');
    return defined({
      role: 'assistant',
      content: isSilent ? null : compact(content),
      name,
      ...this.#thoughts(parts),
      refusal: refusal === '' ? undefined : refusal,
      images: this.#images(parts),
      tool_calls: calls.length === 0 ? undefined : calls,
    });
  }

  #thoughts(parts: readonly Part[]): JsonMessage {
    const thoughts = parts.filter((part) => part.type === 'reasoning');
    if (thoughts.length === 0) return {};
    if (takes(this.endpoint, 'reasoning_details')) return { reasoning_details: thoughts.flatMap(writeDetails) };
    if (thoughts.some(({ signature, encrypted }) => signature !== undefined || encrypted !== undefined)) {
      this.log.drop('reasoning_details');
    }
    if (takes(this.endpoint, 'reasoning_content')) return { reasoning_content: thoughts.map(plainThought).join('') };
    this.log.drop('reasoning');
    return {};
  }

  #images(parts: readonly Part[]): object[] | undefined {
    const images = parts.filter((part) => part.type === 'image');
    if (images.length === 0) return undefined;
    if (takes(this.endpoint, 'images')) return images.flatMap((part) => this.#image(part));
    this.log.drop('images');
    return undefined;
  }

  #toolResult(result: ToolResultPart, name: string | undefined): { message: JsonMessage; media: object[] } {
    if (result.isError) this.log.drop('is_error');
    const takesMedia = takes(this.endpoint, 'tool_media');
    const isSaid = ({ type }: Part): boolean => takesMedia || type === 'text';
    const said = result.parts.filter(isSaid);
    const media = result.parts.filter((part) => !isSaid(part));
    if (media.length > 0) this.log.approximate(SHOWN_BY_USER);
    const message = defined({
      role: 'tool',
      tool_call_id: result.callId,
      content: compact(this.#content(said)),
      name,
      ...this.#cache(result.cache),
    });
    return { message, media: this.#content(media) };
  }

  #content(parts: readonly Part[]): object[] {
    return parts.flatMap((part) => this.#part(part));
  }

  #part(part: Part): object[] {
    switch (part.type) {
      case 'text':
        return [this.#text(part)];
      case 'image':
        return this.#image(part);
      case 'file':
        return [this.#file(part)];
      case 'audio':
        return [{ type: 'input_audio', input_audio: { data: part.data, format: part.format } }];
      case 'video':
        return this.#video(part.source);
      case 'refusal':
        return [{ type: 'text', text: part.text }];
      case 'reasoning':
      case 'tool-call':
      case 'tool-result':
        this.log.drop(`messages.${part.type}`);
        return [];
    }
  }

  #text({ text, cache, annotations }: TextPart): object {
    if (annotations) this.log.drop('annotations');
    return { type: 'text', text, ...this.#cache(cache) };
  }

  #image({ source, detail, cache }: ImagePart): object[] {
    const url = writeMediaUrl(source, 'image/png');
    if (url === undefined) {
      this.log.drop('messages.image.file_id');
      return [];
    }
    return [{ type: 'image_url', image_url: defined({ url, detail }), ...this.#cache(cache) }];
  }

  #file({ source, filename, cache }: FilePart): object {
    const isBare = source.kind === 'base64' && source.mediaType === null;
    const file = defined({
      file_id: source.kind === 'file-id' ? source.id : undefined,
      file_data: isBare ? source.data : writeMediaUrl(source, 'application/octet-stream'),
      filename,
    });
    return { type: 'file', file, ...this.#cache(cache) };
  }

  #video(source: FilePart['source']): object[] {
    const url = writeMediaUrl(source, 'video/mp4');
    if (url !== undefined) return [{ type: 'video_url', video_url: { url } }];
    this.log.drop('messages.video.file_id');
    return [];
  }

  #cache(cache: CacheMark | undefined): object {
    if (cache === undefined) return {};
    if (takes(this.endpoint, 'cache_control')) return { cache_control: { type: 'ephemeral', ...cache } };
    this.log.drop('cache_control');
    return {};
  }
}

function writeToolCall({ id, name, arguments: text }: ToolCallPart): object {
  return { id, type: 'function', function: { name, arguments: text } };
}

/** Returns a single plain text as a string, which every upstream takes. */
function compact(content: readonly object[]): string | readonly object[] {
  if (content.length === 0) return '';
  const [only] = content;
  const isPlain = content.length === 1 && Object.keys(only!).length === 2 && 'text' in only!;
  return isPlain ? String(only.text) : content;
}
