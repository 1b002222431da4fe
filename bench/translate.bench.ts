import { compareAnswers, runBenchmark } from './support/comparison';

/**
 * Measures what a response costs at the gateway where the provider speaks another API, messages: the request and the
 * answer are translated. The pass-through asks for a response and gets one, so the ratio includes the translation.
 */
const BODY = JSON.stringify({
  model: 'bench/messages',
  instructions: 'You are a helpful assistant that answers in one sentence.',
  input: [
    { role: 'user', content: 'What is the capital of France?' },
    { role: 'assistant', content: 'Paris.' },
    { role: 'user', content: 'And how many people live there? '.repeat(4) },
  ],
  temperature: 0.7,
  max_output_tokens: 256,
});

runBenchmark(() => compareAnswers('translate', '/responses', BODY));
