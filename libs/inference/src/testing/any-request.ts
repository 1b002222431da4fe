import fc from 'fast-check';
import type { CanonicalRequest, ReasoningRequest, ToolDefinition } from '../model/canonical-request';
import type {
  FilePart,
  ImagePart,
  MediaSource,
  Message,
  ReasoningPart,
  TextPart,
  ToolCallPart,
} from '../model/conversation';

/** Arbitrary canonical values for property tests: everything that a dialect might be able to carry. */
export const anyText = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
export const anyId = fc.stringMatching(/^[a-z0-9_]{1,12}$/);
export const anyName = fc.stringMatching(/^[a-z]{1,8}$/);
const anyNumber = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const anyJson = fc.jsonValue({ maxDepth: 2 }).map((value): unknown => JSON.parse(JSON.stringify(value)));
const anySchema = fc.dictionary(anyName, anyJson, { maxKeys: 3, noNullPrototype: true });
export const anyUrl = anyId.map((id) => `https://files.example/${id}`);
const anyBase64 = fc.uint8Array({ minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('base64'));
const anyCache = fc.constantFrom({}, { ttl: '5m' }, { ttl: '1h' });

/** A record in which every member may be missing. */
export function anySome<T extends object>(members: { [name in keyof T]: fc.Arbitrary<NonNullable<T[name]>> }) {
  return fc.record(members, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<Partial<T>>;
}

/** The members of both. */
export const both = <A extends object, B extends object>(
  one: fc.Arbitrary<A>,
  other: fc.Arbitrary<B>,
): fc.Arbitrary<A & B> => fc.tuple(one, other).map(([a, b]) => ({ ...a, ...b }));

const anyLink = (mediaType: string): fc.Arbitrary<MediaSource> =>
  fc.oneof(
    fc.record({ kind: fc.constant('url' as const), url: anyUrl }),
    fc.record({ kind: fc.constant('base64' as const), mediaType: fc.constant(mediaType), data: anyBase64 }),
  );

export const anyTextPart: fc.Arbitrary<TextPart> = both(
  fc.record({ type: fc.constant('text' as const), text: anyText }),
  anySome<Pick<TextPart, 'cache'>>({ cache: anyCache }),
);
export const anyImagePart: fc.Arbitrary<ImagePart> = both(
  fc.record({ type: fc.constant('image' as const), source: anyLink('image/png') }),
  anySome<Pick<ImagePart, 'cache' | 'detail'>>({
    cache: anyCache,
    detail: fc.constantFrom('auto', 'low', 'high', 'original'),
  }),
);
export const anyFilePart: fc.Arbitrary<FilePart> = both(
  fc.record({
    type: fc.constant('file' as const),
    source: fc.oneof(
      anyLink('application/pdf'),
      fc.record({ kind: fc.constant('base64' as const), mediaType: fc.constant(null), data: anyBase64 }),
      fc.record({ kind: fc.constant('file-id' as const), id: anyId }),
    ),
  }),
  anySome<Pick<FilePart, 'cache' | 'filename'>>({ cache: anyCache, filename: anyText }),
);
const anyAudioPart = fc.record({ type: fc.constant('audio' as const), data: anyBase64, format: fc.constant('wav') });
const anyVideoPart = fc.record({ type: fc.constant('video' as const), source: anyLink('video/mp4') });

/** Of one kind of proof, as providers make them: with a signature, or encrypted, or neither. */
export const anyReasoningPart: fc.Arbitrary<ReasoningPart> = anySome<Omit<ReasoningPart, 'type'>>({
  text: anyText,
  summary: anyText,
  signature: anyId,
  encrypted: anyBase64,
  id: anyId,
  format: fc.constantFrom('anthropic-claude-v1', 'openai-responses-v1', 'google-gemini-v1', 'unknown'),
})
  .filter((members) => Object.keys(members).length > 0)
  .map((members) => ({ type: 'reasoning', ...members }));

/** Arguments are JSON, or what a model that was cut off left of it. */
export const anyToolCall: fc.Arbitrary<ToolCallPart> = fc.record({
  type: fc.constant('tool-call' as const),
  id: anyId,
  name: anyName,
  arguments: fc.oneof(
    anySchema.map((value) => JSON.stringify(value)),
    fc.constantFrom('', '{"a":', '{"a":"\\u00'),
  ),
});
export const anyRefusal = fc.record({ type: fc.constant('refusal' as const), text: anyText });

const anyNamed = <M extends Pick<Message, 'role' | 'parts'>>(message: fc.Arbitrary<M>): fc.Arbitrary<Message> =>
  both(message, anySome<Pick<Message, 'name'>>({ name: anyName }));

const anyAssistant = fc
  .tuple(
    fc.array(anyReasoningPart, { maxLength: 2 }),
    fc.array(anyTextPart, { maxLength: 2 }),
    fc.array(anyRefusal, { maxLength: 1 }),
    fc.array(anyImagePart, { maxLength: 1 }),
    fc.array(anyToolCall, { maxLength: 3 }),
  )
  .map((lists) => ({ role: 'assistant' as const, parts: lists.flat() }));

const anyToolMessage = fc
  .record({
    callId: anyId,
    parts: fc.array(fc.oneof(anyTextPart, anyImagePart, anyFilePart), { minLength: 1, maxLength: 3 }),
  })
  .map(({ callId, parts }) => ({ role: 'tool' as const, parts: [{ type: 'tool-result' as const, callId, parts }] }));

export const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  anyNamed(
    fc.record({
      role: fc.constantFrom('system' as const, 'developer' as const),
      parts: fc.array(anyTextPart, { minLength: 1, maxLength: 2 }),
    }),
  ),
  anyNamed(
    fc.record({
      role: fc.constant('user' as const),
      parts: fc.array(fc.oneof(anyTextPart, anyImagePart, anyFilePart, anyAudioPart, anyVideoPart), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
  ),
  anyNamed(anyAssistant),
  anyToolMessage,
);

const anyTool: fc.Arbitrary<ToolDefinition> = both(
  fc.record({ name: anyName, parameters: fc.oneof(anySchema, fc.constant(null)) }),
  anySome<Pick<ToolDefinition, 'description' | 'strict' | 'cache'>>({
    description: anyText,
    strict: fc.boolean(),
    cache: anyCache,
  }),
);

/** Generates settings for tools only together with tools. */
const anyToolSettings = fc.oneof(
  fc.constant({ tools: [] }),
  both(
    fc.record({ tools: fc.array(anyTool, { minLength: 1, maxLength: 3 }) }),
    anySome<Pick<CanonicalRequest, 'toolChoice' | 'areParallelToolCallsAllowed'>>({
      toolChoice: fc.oneof(
        fc.record({ type: fc.constantFrom('auto' as const, 'none' as const, 'required' as const) }),
        fc.record({ type: fc.constant('tool' as const), name: anyName }),
      ),
      areParallelToolCallsAllowed: fc.boolean(),
    }),
  ),
);

const anyReasoningRequest = anySome<ReasoningRequest>({
  isEnabled: fc.boolean(),
  effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
  maxTokens: fc.nat(),
  summary: fc.constantFrom('auto', 'concise', 'detailed'),
  isHidden: fc.boolean(),
}).filter((members) => Object.keys(members).length > 0);

const anyResponseFormat = fc.oneof(
  fc.record({ type: fc.constantFrom('text' as const, 'json' as const) }),
  both(
    fc.record({ type: fc.constant('json-schema' as const), name: anyName, schema: anySchema }),
    anySome<{ description: string; strict: boolean }>({ description: anyText, strict: fc.boolean() }),
  ),
);

/** A request without an end user, whose name is hashed wherever it is read. */
export const anyRequest: fc.Arbitrary<CanonicalRequest> = fc
  .tuple(
    fc.record({
      messages: fc.array(anyMessage, { maxLength: 4 }),
      sampling: anySome<CanonicalRequest['sampling']>({
        temperature: anyNumber,
        topP: anyNumber,
        topK: fc.nat(),
        minP: anyNumber,
        topA: anyNumber,
        frequencyPenalty: anyNumber,
        presencePenalty: anyNumber,
        repetitionPenalty: anyNumber,
        seed: fc.integer(),
        logitBias: fc.dictionary(anyName, anyNumber, { maxKeys: 2, noNullPrototype: true }),
      }),
      stopSequences: fc.array(anyText, { maxLength: 4 }),
      unread: fc.constant([]),
    }),
    anyToolSettings,
    anySome<CanonicalRequest>({
      messages: fc.constant([]),
      tools: fc.constant([]),
      sampling: fc.constant({}),
      stopSequences: fc.constant([]),
      unread: fc.constant([]),
      toolChoice: fc.constant({ type: 'auto' as const }),
      areParallelToolCallsAllowed: fc.boolean(),
      endUser: anyId,
      responseFormat: anyResponseFormat,
      maxOutputTokens: fc.nat(),
      choices: fc.integer({ min: 1, max: 8 }),
      reasoning: anyReasoningRequest,
      topLogprobs: fc.integer({ min: 0, max: 20 }),
      verbosity: fc.constantFrom('low', 'medium', 'high'),
      outputModalities: fc.subarray(['text', 'image', 'audio'] as const, { minLength: 1 }),
      cache: anyCache,
      promptCacheKey: anyId,
      serviceTier: fc.constantFrom('auto', 'default', 'flex', 'priority'),
      metadata: fc.dictionary(anyName, anyText, { maxKeys: 2, noNullPrototype: true }),
    }),
  )
  .map(([needed, tools, { endUser: _user, toolChoice: _choice, areParallelToolCallsAllowed: _parallel, ...more }]) => ({
    ...more,
    ...needed,
    ...tools,
  }));
