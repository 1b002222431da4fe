import fc from 'fast-check';
import { parseJson, type JsonObject } from '@libs/json';
import type { AnswerPart } from '../../model/canonical-answer';
import type { CanonicalRequest } from '../../model/canonical-request';
import { LossLog } from '../../model/loss-report';
import type { UpstreamStream } from '../../wire/upstream-stream';
import {
  aModel,
  anEndpoint,
  anyId,
  anyName,
  anyRequest,
  anyText,
  anyToolCall,
  aProvider,
  foldAnswer,
  pieces,
  textOf,
} from '../../testing';
import type { AnswerContext } from '../dialect';
import { TRANSLATIONS } from '../dialect-pairs';
import { EventSplitter } from '../event-splitter';
import { TranslatedStream } from '../translated-stream';
import { googleGenerateContent } from '.';
import { NO_PROOF } from './reasoning';

const endpoint = anEndpoint({
  provider: aProvider({ protocol: 'google' }),
  upstreamModel: 'gemini-3.5-flash',
  contextLength: null,
});
const context: AnswerContext = {
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from('{"model":"acme/large"}'),
};
const callers = [...TRANSLATIONS.keys()].map((api) => [api] as const);

const sent = (value: object): JsonObject => parseJson(Buffer.from(JSON.stringify(value))) as JsonObject;

interface WireBody {
  readonly systemInstruction?: { readonly parts: readonly JsonObject[] };
  readonly contents: readonly { readonly role: string; readonly parts: readonly JsonObject[] }[];
}

const write = (request: CanonicalRequest, log = new LossLog()): WireBody =>
  sent(googleGenerateContent.writeRequest(request, endpoint, false, log)) as unknown as WireBody;

/** Some callers' dialects refuse texts of nothing but white space. */
const anyWords = anyText.filter((text) => text.trim() !== '');

/** A conversation with tools that every dialect can carry whole. */
const anyPlainRequest: fc.Arbitrary<CanonicalRequest> = fc
  .record({
    question: anyWords,
    calls: fc.uniqueArray(anyToolCall, { maxLength: 3, selector: ({ id }) => id }),
    results: fc.array(anyWords, { minLength: 3, maxLength: 3 }),
    answer: anyWords,
    maxOutputTokens: fc.integer({ min: 16, max: 4_000 }),
  })
  .map(({ question, calls, results, answer, maxOutputTokens }) => ({
    messages: [
      { role: 'system', parts: [{ type: 'text', text: answer }] },
      { role: 'user', parts: [{ type: 'text', text: question }] },
      ...(calls.length === 0
        ? []
        : [
            {
              role: 'assistant' as const,
              parts: calls.map((call) => ({ ...call, arguments: JSON.stringify({ a: 1 }) })),
            },
          ]),
      ...calls.map(({ id }, i) => ({
        role: 'tool' as const,
        parts: [{ type: 'tool-result' as const, callId: id, parts: [{ type: 'text' as const, text: results[i]! }] }],
      })),
      { role: 'assistant', parts: [{ type: 'text', text: answer }] },
      { role: 'user', parts: [{ type: 'text', text: question }] },
    ],
    tools: [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object', properties: {} } }],
    sampling: { temperature: 0.5 },
    maxOutputTokens,
    stopSequences: [],
    unread: [],
  }));

/** What was said and done, in the words of the wire. */
function gistOf({ messages, maxOutputTokens }: CanonicalRequest): unknown[] {
  const names = new Map<string, string>();
  return messages
    .flatMap(({ role, parts }) =>
      parts.map((part): unknown => {
        if (part.type === 'text') return [role === 'assistant' ? 'model' : role, part.text];
        if (part.type === 'tool-call') {
          names.set(part.id, part.name);
          return ['model', part.id, part.name, { a: 1 }];
        }
        if (part.type !== 'tool-result') return part.type;
        return ['user', part.callId, names.get(part.callId), { output: (part.parts[0] as { text: string }).text }];
      }),
    )
    .concat([maxOutputTokens]);
}

function gistOfBody({ systemInstruction, contents, ...body }: WireBody): unknown[] {
  const turns = [{ role: 'system', parts: systemInstruction?.parts ?? [] }, ...contents];
  const said = turns.flatMap(({ role, parts }) =>
    parts.map(({ text, functionCall, functionResponse }) => {
      if (functionCall) {
        const { id, name, args } = functionCall as JsonObject;
        return [role, id, name, args];
      }
      if (functionResponse) {
        const { id, name, response } = functionResponse as JsonObject;
        return [role, id, name, response];
      }
      return [role, text];
    }),
  );
  return [...said, (body as { generationConfig: JsonObject }).generationConfig['maxOutputTokens']];
}

const anyArguments = fc.record({ number: fc.nat(99) });
const anySignature = fc.base64String({ minLength: 4, maxLength: 12 });
const signed = (part: fc.Arbitrary<object>): fc.Arbitrary<JsonObject> =>
  fc
    .tuple(part, fc.option(anySignature))
    .map(([one, thoughtSignature]) => ({ ...one, ...(thoughtSignature && { thoughtSignature }) }));

/** A turn of a model as the upstream sends it: thoughts, a text, calls; each of them signed or not. */
const anyTurn: fc.Arbitrary<readonly JsonObject[]> = fc
  .tuple(
    fc.array(signed(fc.record({ text: anyText, thought: fc.constant(true) })), { maxLength: 2 }),
    fc.array(signed(fc.record({ text: anyText })), { maxLength: 1 }),
    fc.uniqueArray(signed(fc.record({ functionCall: fc.record({ id: anyId, name: anyName, args: anyArguments }) })), {
      maxLength: 3,
      selector: ({ functionCall }) => (functionCall as JsonObject)['id'],
    }),
  )
  .map((lists) => lists.flat())
  .filter((parts) => parts.length > 0);

const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 7, thoughtsTokenCount: 2, totalTokenCount: 14 };
const answerOf = (parts: readonly JsonObject[]): object => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
  usageMetadata,
  responseId: 'up-1',
});
const readParts = (parts: readonly JsonObject[]): readonly AnswerPart[] =>
  googleGenerateContent.readAnswer(sent(answerOf(parts)), endpoint).choices[0]!.parts;

/** The turn as a stream, its texts cut into pieces; a signature comes with the last of them. */
function streamOf(turn: readonly JsonObject[], size: number): Buffer {
  const chunks = turn.flatMap((part) => {
    if (typeof part['text'] !== 'string') return [part];
    const { thoughtSignature, text, ...rest } = part;
    const cut = pieces(text as string, size).map((piece): JsonObject => ({ ...rest, text: piece }));
    return thoughtSignature === undefined ? cut : [...cut, { ...rest, text: '', thoughtSignature }];
  });
  const events = chunks.map((part, index) => ({
    candidates: [{ content: { parts: [part] }, ...(index === chunks.length - 1 && { finishReason: 'STOP' }) }],
    usageMetadata,
    responseId: 'up-1',
  }));
  return Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join(''));
}

function bodyOf(body: Buffer, cuts: readonly number[]): UpstreamStream {
  const offsets = [0, ...cuts.map((at) => at % body.length).sort((a, b) => a - b), body.length];
  const left = offsets.slice(1).map((end, i) => body.subarray(offsets[i], end));
  return { read: async () => left.shift() ?? null, leave: () => 0, cancel: () => undefined, discard: () => undefined };
}

/** The caller's next request, which gives back what it was answered. */
function nextRequest(api: string, answer: JsonObject): JsonObject {
  const question = { role: 'user', content: 'And now?' };
  if (api === 'responses') return { input: [question, ...(answer['output'] as object[])] };
  if (api === 'messages') {
    return { max_tokens: 9, messages: [question, { role: 'assistant', content: answer['content'] }] };
  }
  return { messages: [question, (answer['choices'] as { message: object }[])[0]!.message] };
}

const wordsAndCalls = (parts: readonly AnswerPart[]): unknown[] =>
  parts
    .filter(({ type }) => type === 'text' || type === 'tool-call')
    .map((part) => (part.type === 'tool-call' ? [part.id, part.name, JSON.parse(part.arguments)] : part));

const proofs = (parts: readonly AnswerPart[]): unknown[] =>
  parts.flatMap((part) => (part.type === 'reasoning' ? (part.signature ?? part.encrypted ?? []) : []));

describe.each(callers)('a caller of %s and an upstream of generateContent', (api) => {
  const { caller, upstream } = TRANSLATIONS.get(api)!;

  it('mean the same request', () => {
    fc.assert(
      fc.property(anyPlainRequest, (request) => {
        const asked = caller.readRequest(sent(upstream.writeRequest(request, endpoint, false, new LossLog())));
        const log = new LossLog();
        expect(gistOfBody(write(asked, log))).toEqual(gistOf(request));
        expect(log.report()).toEqual({ dropped: [], approximated: [] });
      }),
    );
  });

  it('give every signature back on the part that had it', () => {
    fc.assert(
      fc.property(anyTurn, (turn) => {
        const answer = googleGenerateContent.readAnswer(sent(answerOf(turn)), endpoint);
        const cost = { totalCost: 0n, promptCost: 0n, completionCost: 0n };
        const shown = sent(caller.writeAnswer(answer, { usage: answer.usage!, cost }, context));
        const log = new LossLog();
        const { contents } = write(caller.readRequest(nextRequest(api, shown)), log);
        const given = contents
          .at(-1)!
          .parts.map(({ thoughtSignature, ...part }) =>
            thoughtSignature === undefined || thoughtSignature === NO_PROOF ? part : { ...part, thoughtSignature },
          );
        expect(given).toEqual(turn);
        expect(log.report()).toEqual({ dropped: [], approximated: [] });
      }),
    );
  });

  it('mean the same stream, wherever the network cuts it', async () => {
    const cuts = fc.array(fc.nat(), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(anyTurn, fc.integer({ min: 1, max: 3 }), cuts, async (turn, size, at) => {
        const stream = await TranslatedStream.open(bodyOf(streamOf(turn, size), at), context, {
          reader: googleGenerateContent.readStream(endpoint),
          writer: caller.writeStream(context),
        });
        const reader = upstream.readStream(endpoint);
        const events = eventsIn(Buffer.from(await textOf(stream))).flatMap((event) => reader.read(event));
        const read = foldAnswer([...events, ...reader.end()]);
        expect(wordsAndCalls(read.parts)).toEqual(wordsAndCalls(readParts(turn)));
        expect(proofs(read.parts)).toEqual(proofs(readParts(turn)));
        expect(read.usage).toMatchObject({ promptTokens: 5, completionTokens: 9, reasoningTokens: 2 });
        expect(await stream.outcome).toMatchObject({ state: 'completed', usage: { provenance: 'upstream' } });
      }),
    );
  });
});

function eventsIn(body: Buffer): { name: string | null; data: string }[] {
  const events: { name: string | null; data: string }[] = [];
  const splitter = new EventSplitter(1_000_000, (data, name) => events.push({ name, data: data.toString() }));
  splitter.push(body);
  splitter.end();
  return events;
}

describe('generateContent', () => {
  it('reads the same answer from a stream as from a whole', () => {
    fc.assert(
      fc.property(anyTurn, fc.integer({ min: 1, max: 3 }), (turn, size) => {
        const reader = googleGenerateContent.readStream(endpoint);
        const events = eventsIn(streamOf(turn, size)).flatMap((event) => reader.read(event));
        const { parts, finishReason, upstreamId } = foldAnswer([...events, ...reader.end()]);
        // Thoughts that follow each other without a signature between them are one in a stream.
        expect(joined(parts)).toEqual(joined(readParts(turn)));
        expect({ finishReason, upstreamId }).toEqual({
          finishReason: turn.some(({ functionCall }) => functionCall) ? 'tool_calls' : 'stop',
          upstreamId: 'up-1',
        });
      }),
    );
  });

  it('asks nothing that the upstream could not parse, whatever it is asked', () => {
    fc.assert(
      fc.property(
        anyRequest,
        fc.constantFrom('gemini-2.5-pro', 'gemini-3.1-pro', 'gemma-4'),
        (request, upstreamModel) => {
          const written = googleGenerateContent.writeRequest(
            request,
            anEndpoint({ upstreamModel }),
            false,
            new LossLog(),
          );
          const { contents } = sent(written) as unknown as WireBody;
          if (contents.length > 0) expect(contents[0]!.role).toBe('user');
          for (const { role, parts } of contents) {
            expect(['user', 'model']).toContain(role);
            expect(parts.length).toBeGreaterThan(0);
            for (const part of parts) {
              const data = Object.keys(part).filter((name) => name !== 'thought' && name !== 'thoughtSignature');
              expect(data).toHaveLength(1);
              expect(['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse']).toContain(data[0]);
            }
          }
        },
      ),
    );
  });
});

function joined(parts: readonly AnswerPart[]): AnswerPart[] {
  const whole: AnswerPart[] = [];
  for (const part of parts) {
    const last = whole.at(-1);
    const isSame = last?.type === 'reasoning' && last.text !== undefined && last.signature === undefined;
    if (isSame && part.type === 'reasoning' && part.text !== undefined) {
      whole[whole.length - 1] = { ...part, text: last.text + part.text };
    } else whole.push(part);
  }
  return whole;
}
