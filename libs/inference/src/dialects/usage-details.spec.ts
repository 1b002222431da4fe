import { aModel, anEndpoint } from '../testing';
import { anthropicMessages, anthropicMessagesTranslation } from './anthropic-messages';
import type { Answer } from './dialect';
import { googleGenerateContent } from './google-generate-content';
import { openAiChat } from './openai-chat';
import { openAiChatTranslation } from './openai-chat';
import { openAiResponses } from './openai-responses/dialect';
import { translateAnswer } from './translated-answer';

const endpoint = anEndpoint({ apis: ['messages'] });
const context = {
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'batch' as const,
  beganMs: 0,
  requestBody: Buffer.from('{"messages":[]}'),
};

const ITERATION = {
  type: 'compaction',
  input_tokens: 40,
  output_tokens: 4,
  cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 0 },
  cache_creation_input_tokens: 3,
  cache_read_input_tokens: 0,
};

const USAGE = {
  input_tokens: 100,
  output_tokens: 20,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 30,
  cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
  server_tool_use: { web_search_requests: 2, web_fetch_requests: 0 },
  service_tier: 'priority',
  speed: 'fast',
  iterations: [ITERATION],
};

const DETAILS = {
  cacheWrite5mTokens: 10,
  cacheWrite1hTokens: 20,
  webSearches: 2,
  speed: 'fast',
  iterations: [{ type: 'compaction', inputTokens: 40, outputTokens: 4, cacheWriteTokens: 3, cacheWrite5mTokens: 3 }],
};

const message = (usage: object): Buffer =>
  Buffer.from(
    JSON.stringify({
      id: 'msg-1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      usage,
    }),
  );

const chat = (usage: string, members = ''): Buffer =>
  Buffer.from(
    `{"id":"c","object":"chat.completion","created":1,"model":"m",${members}"choices":[{"index":0,` +
      `"finish_reason":"stop","message":{"role":"assistant","content":"Hello"}}],"usage":${usage}}`,
  );

const told = ({ details, serviceTier }: Answer): object => ({ details, serviceTier });

describe('what an answer says of its usage beside the counts', () => {
  it('is read from a message, whichever dialect its caller speaks', () => {
    expect(told(anthropicMessages.readAnswer(message(USAGE), context))).toEqual({
      details: DETAILS,
      serviceTier: 'priority',
    });
    const translation = { caller: openAiChatTranslation.caller, upstream: anthropicMessagesTranslation.upstream };
    expect(told(translateAnswer(message(USAGE), context, translation))).toEqual({
      details: DETAILS,
      serviceTier: 'priority',
    });
  });

  it('is nothing where a message only counts, and its tier is the one that its body shows', () => {
    const answer = anthropicMessages.readAnswer(message({ input_tokens: 1, output_tokens: 1 }), context);
    expect(told(answer)).toEqual({ details: undefined, serviceTier: 'standard' });
    expect(JSON.parse(answer.body.toString())).toMatchObject({ usage: { service_tier: 'standard' } });
  });

  it('is read from chat, which names the tier beside the usage', () => {
    const tools =
      '"server_tool_use_details":{"tool_calls_requested":3,"tool_calls_executed":2,"web_search_requests":1}';
    const answer = openAiChat.readAnswer(
      chat(`{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10,${tools}}`, '"service_tier":"flex",'),
      context,
    );
    expect(told(answer)).toEqual({
      details: { toolCallsRequested: 3, toolCallsExecuted: 2, webSearches: 1 },
      serviceTier: 'flex',
    });
  });

  it('is nothing in a plain chat answer', () => {
    const answer = openAiChat.readAnswer(chat('{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}'), context);
    expect(told(answer)).toEqual({ details: undefined, serviceTier: undefined });
  });

  it('is the tier of a response in the words of that API', () => {
    const response = {
      id: 'r',
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }],
      service_tier: 'priority',
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    };
    expect(told(openAiResponses.readAnswer(Buffer.from(JSON.stringify(response)), context))).toEqual({
      details: undefined,
      serviceTier: 'priority',
    });
  });

  it('is left out where it is no whole number, no word or no JSON', () => {
    const usage = {
      ...USAGE,
      cache_creation: { ephemeral_5m_input_tokens: -1, ephemeral_1h_input_tokens: 1.5 },
      server_tool_use: { web_search_requests: 'many' },
      service_tier: 'a\u0000b',
      speed: 'x'.repeat(200),
      iterations: [{ type: 7 }, 'none', { type: 'message', input_tokens: 1e300 }],
    };
    const answer = anthropicMessages.readAnswer(message(usage), context);
    expect(told(answer)).toEqual({ details: { iterations: [{ type: 'message' }] }, serviceTier: undefined });
    const broken = chat('{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10,"speed":fast}');
    expect(() => openAiChat.readAnswer(broken, context)).not.toThrow(SyntaxError);
  });

  it('does not grow with what an upstream makes up', () => {
    const iterations = Array.from({ length: 5_000 }, (_, index) => ({ type: `kind-${index}` }));
    const { details } = anthropicMessages.readAnswer(message({ ...USAGE, iterations }), context);
    expect(details?.iterations).toHaveLength(100);
  });
});

describe('media among the tokens', () => {
  it('are counted by kind, and no more than there are tokens', () => {
    const usage =
      '{"prompt_tokens":50,"completion_tokens":20,"total_tokens":70,' +
      '"prompt_tokens_details":{"audio_tokens":5,"video_tokens":12,"file_tokens":900},' +
      '"completion_tokens_details":{"audio_tokens":2,"image_tokens":7}}';
    const expected = {
      audioPromptTokens: 5,
      videoPromptTokens: 12,
      filePromptTokens: 50,
      audioCompletionTokens: 2,
      imageCompletionTokens: 7,
    };
    expect(openAiChat.readAnswer(chat(usage), context).usage).toMatchObject(expected);
  });

  it('of another dialect are shown to callers of chat', () => {
    const answer = {
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 60,
        candidatesTokenCount: 30,
        promptTokensDetails: [
          { modality: 'VIDEO', tokenCount: 40 },
          { modality: 'DOCUMENT', tokenCount: 11 },
        ],
        candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 25 }],
      },
    };
    const translation = { caller: openAiChatTranslation.caller, upstream: googleGenerateContent };
    const { body, usage } = translateAnswer(Buffer.from(JSON.stringify(answer)), context, translation);
    expect(usage).toMatchObject({ videoPromptTokens: 40, filePromptTokens: 11, imageCompletionTokens: 25 });
    expect(JSON.parse(body.toString())).toMatchObject({
      usage: {
        prompt_tokens_details: { video_tokens: 40, file_tokens: 11 },
        completion_tokens_details: { image_tokens: 25 },
      },
    });
  });
});
