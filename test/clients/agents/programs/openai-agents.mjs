import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { asked, prompt, report, weatherOf } from './ask.mjs';

const { baseUrl: baseURL, key: apiKey, model, kind, task } = asked;
// Traces would be sent to OpenAI.
setTracingDisabled(true);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const Model = kind === 'openai-chat' ? OpenAIChatCompletionsModel : OpenAIResponsesModel;
const weather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: weatherOf,
});

await report(async (pieces) => {
  const agent = new Agent({
    name: 'Tester',
    instructions: 'Answer briefly.',
    model: new Model(client, model),
    tools: task === 'tool' ? [weather] : [],
  });
  const result = await run(agent, prompt, { stream: true });
  for await (const text of result.toTextStream()) pieces.push(text);
  await result.completed;
  if (result.error) throw result.error;
});
