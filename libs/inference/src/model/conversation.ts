/**
 * Roles in a conversation of the canonical model. If caller and upstream use different dialects, the caller's
 * conversation is read into this form and the upstream's is written from it. Plain immutable data without classes.
 */
export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool';

export interface Message {
  readonly role: Role;
  readonly parts: readonly Part[];
  /** The participant's name, if the API has one. */
  readonly name?: string;
}

/** Marks the end of a prefix that the upstream should keep in its prompt cache. */
export interface CacheMark {
  /** `5m` or `1h`; absent means the upstream's default. */
  readonly ttl?: string;
}

/** Source of the bytes of a picture, file, sound or video. */
export type MediaSource =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'base64'; readonly mediaType: string | null; readonly data: string }
  | { readonly kind: 'file-id'; readonly id: string };

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly annotations?: readonly Annotation[];
  readonly cache?: CacheMark;
}

export interface ImagePart {
  readonly type: 'image';
  readonly source: MediaSource;
  readonly detail?: 'auto' | 'low' | 'high' | 'original';
  readonly cache?: CacheMark;
}

export interface FilePart {
  readonly type: 'file';
  readonly source: MediaSource;
  readonly filename?: string;
  readonly cache?: CacheMark;
}

export interface AudioPart {
  readonly type: 'audio';
  readonly data: string;
  /** `wav`, `mp3`, … */
  readonly format: string;
}

export interface VideoPart {
  readonly type: 'video';
  readonly source: MediaSource;
}

export interface RefusalPart {
  readonly type: 'refusal';
  readonly text: string;
}

/**
 * A thought of a model. `signature` and `encrypted` prove to the provider that the thought is its own. They must be
 * sent back unchanged, and only to the kind of provider that `format` names.
 */
export interface ReasoningPart {
  readonly type: 'reasoning';
  readonly text?: string;
  readonly summary?: string;
  readonly signature?: string;
  readonly encrypted?: string;
  readonly id?: string;
  readonly format?: ReasoningFormat;
}

export type ReasoningFormat =
  | 'unknown'
  | 'openai-responses-v1'
  | 'azure-openai-responses-v1'
  | 'bedrock-openai-responses-v1'
  | 'bedrock-xai-responses-v1'
  | 'xai-responses-v1'
  | 'meta-responses-v1'
  | 'anthropic-claude-v1'
  | 'google-gemini-v1';

export interface ToolCallPart {
  readonly type: 'tool-call';
  readonly id: string;
  readonly name: string;
  /** JSON text exactly as the model wrote it; it need not be valid. */
  readonly arguments: string;
}

export interface ToolResultPart {
  readonly type: 'tool-result';
  readonly callId: string;
  readonly parts: readonly (TextPart | ImagePart | FilePart)[];
  readonly isError?: boolean;
  readonly cache?: CacheMark;
}

export type Part =
  | TextPart
  | ImagePart
  | FilePart
  | AudioPart
  | VideoPart
  | RefusalPart
  | ReasoningPart
  | ToolCallPart
  | ToolResultPart;

/** A source of a statement in the text. Offsets count UTF-16 units of the text. */
export interface Annotation {
  readonly type: 'url-citation';
  readonly url: string;
  readonly title: string;
  readonly startIndex: number;
  readonly endIndex: number;
  readonly content?: string;
}
