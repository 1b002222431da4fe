import { ChatAnthropic } from '@langchain/anthropic';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { asked, prompt, report, weatherOf } from './ask.mjs';

const { baseUrl, key: apiKey, model, kind, task } = asked;
const common = { model, apiKey, maxRetries: 0 };
const MODELS = {
  'openai-chat': () => new ChatOpenAI({ ...common, configuration: { baseURL: baseUrl } }),
  openai: () => new ChatOpenAI({ ...common, useResponsesApi: true, configuration: { baseURL: baseUrl } }),
  anthropic: () => new ChatAnthropic({ ...common, anthropicApiUrl: baseUrl.replace(/\/v1$/, '') }),
};
const weather = tool(weatherOf, {
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
});
const textOf = (content) =>
  typeof content === 'string' ? content : content.map((block) => (block.type === 'text' ? block.text : '')).join('');

await report(async (pieces) => {
  const chat = MODELS[kind]();
  const messages = [{ role: 'user', content: prompt }];
  if (task === 'tool') {
    const agent = createAgent({ model: chat, tools: [weather] });
    const { messages: all } = await agent.invoke({ messages });
    pieces.push(textOf(all.at(-1).content));
    return;
  }
  for await (const chunk of await chat.stream(messages)) {
    const text = textOf(chunk.content);
    if (text !== '') pieces.push(text);
  }
});
