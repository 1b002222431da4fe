import { Anthropic } from '@llamaindex/anthropic';
import { OpenAI, OpenAIResponses } from '@llamaindex/openai';
import { tool } from 'llamaindex';
import { z } from 'zod';
import { asked, prompt, report, weatherOf } from './ask.mjs';

const { baseUrl: baseURL, key: apiKey, model, kind, task } = asked;
// Its options for Anthropic have no address.
process.env.ANTHROPIC_BASE_URL = baseURL.replace(/\/v1$/, '');
const common = { model, apiKey, maxRetries: 0 };
const MODELS = {
  'openai-chat': () => new OpenAI({ ...common, baseURL }),
  openai: () => new OpenAIResponses({ ...common, baseURL }),
  anthropic: () => new Anthropic(common),
};
const weather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: weatherOf,
});

await report(async (pieces) => {
  const llm = MODELS[kind]();
  const messages = [{ role: 'user', content: prompt }];
  if (task === 'tool') {
    const { newMessages, toolCalls } = await llm.exec({ messages, tools: [weather] });
    messages.push(...newMessages);
    if (toolCalls.length > 0) messages.push(...(await llm.exec({ messages, tools: [weather] })).newMessages);
    const { content } = messages.at(-1);
    pieces.push(typeof content === 'string' ? content : content.map(({ text = '' }) => text).join(''));
    return;
  }
  for await (const { delta, raw } of await llm.chat({ messages, stream: true })) {
    // Of responses it gives the last piece again with each event that follows.
    if (delta && (kind !== 'openai' || raw?.type === 'response.output_text.delta')) pieces.push(delta);
  }
});
