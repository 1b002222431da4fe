import type { ServerResponse } from 'node:http';

/** An answer of a provider that speaks chat completions, with 10 tokens in and 5 out. */
export const CHAT_ANSWER = {
  id: 'upstream-1',
  object: 'chat.completion',
  created: 1,
  model: 'talk',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

export function answerJson(response: ServerResponse, body: unknown, status = 200, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
