import { isObject, textOf, type JsonObject } from '../http/json-members';
import { SandboxError } from '../http/sandbox-error';
import { tokensOfBytes } from './tokens';

/** Tokens of a picture, a sound or a file, whatever its size. */
const TOKENS_OF_MEDIA = 64;
const TEXT_PARTS = new Set(['text', 'input_text', 'output_text', 'refusal']);

/** Reads messages one by one: counts them, and keeps the last texts of the user and of a tool. */
export class Conversation {
  lastUserText = '';
  toolResult: string | null = null;
  private bytes = 0;
  private media = 0;

  get promptTokens(): number {
    return tokensOfBytes(this.bytes) + this.media * TOKENS_OF_MEDIA;
  }

  /** Counts text that is not a message: a system text, or tools. */
  countText(text: string): void {
    this.bytes += Buffer.byteLength(text);
  }

  countJson(value: unknown): void {
    if (Array.isArray(value) && value.length === 0) return;
    this.countText(JSON.stringify(value) ?? '');
  }

  addUser(text: string): void {
    this.lastUserText = text;
    this.toolResult = null;
  }

  addToolResult(text: string): void {
    this.toolResult = this.toolResult === null ? text : `${this.toolResult} ${text}`;
  }

  addAssistant(): void {
    this.toolResult = null;
  }

  /** The text of a string or of a list of parts, counted. */
  readContent(content: unknown, name: string): string {
    if (typeof content === 'string') {
      this.bytes += Buffer.byteLength(content);
      return content;
    }
    if (content === undefined || content === null) return '';
    if (!Array.isArray(content)) throw new SandboxError(400, `'${name}' must be a string or an array of parts`, name);
    const texts: string[] = [];
    for (const part of content) {
      if (!isObject(part)) throw new SandboxError(400, `Every part of '${name}' must be an object`, name);
      this.readPart(part, texts);
    }
    return texts.join('\n');
  }

  private readPart(part: JsonObject, texts: string[]): void {
    if (typeof part.type !== 'string' || !TEXT_PARTS.has(part.type)) {
      this.media += 1;
      return;
    }
    const text = textOf(part.text ?? part.refusal);
    this.bytes += Buffer.byteLength(text);
    texts.push(text);
  }
}
