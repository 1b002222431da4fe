import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import { stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { asked, prompt, report, weatherOf } from './ask.mjs';

const { baseUrl: baseURL, key: apiKey, model, kind, task } = asked;
const MODELS = {
  openrouter: () => createOpenRouter({ baseURL, apiKey })(model),
  openai: () => createOpenAI({ baseURL, apiKey })(model),
  'openai-chat': () => createOpenAI({ baseURL, apiKey }).chat(model),
  anthropic: () => createAnthropic({ baseURL, apiKey })(model),
  compatible: () => createOpenAICompatible({ name: 'sluice', baseURL, apiKey })(model),
};
const weather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: weatherOf,
});

await report(async (pieces) => {
  const { fullStream } = streamText({
    model: MODELS[kind](),
    prompt,
    maxRetries: 0,
    ...(task === 'tool' && { tools: { get_weather: weather }, stopWhen: stepCountIs(3) }),
    onError: () => undefined,
  });
  for await (const part of fullStream) {
    if (part.type === 'text-delta') pieces.push(part.text);
    if (part.type === 'error') throw part.error;
    // Its chat model looks at the choices of an event alone, so an error shows as the reason of the end.
    if (part.type === 'finish' && part.finishReason === 'other') {
      throw new Error(`finished with ${part.rawFinishReason}`);
    }
  }
});
