import { compareAnswers, runBenchmark } from './support/comparison';

/**
 * Measures what a chat completion costs at the gateway, compared with a process that only passes bytes through
 * (same framework, same HTTP client), under the same load in turns.
 */
const BODY = JSON.stringify({
  model: 'bench/chat',
  messages: [
    { role: 'system', content: 'You are a helpful assistant that answers in one sentence.' },
    { role: 'user', content: 'What is the capital of France, and how many people live there? '.repeat(4) },
  ],
  temperature: 0.7,
  max_tokens: 256,
});

runBenchmark(() => compareAnswers('chat', '/chat/completions', BODY));
