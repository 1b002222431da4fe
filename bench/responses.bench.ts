import { compareAnswers, runBenchmark } from './support/comparison';

/** Measures a response at the gateway where the provider speaks the same API, compared with a bare pass-through. */
const BODY = JSON.stringify({
  model: 'bench/responses',
  instructions: 'You are a helpful assistant that answers in one sentence.',
  input: 'What is the capital of France, and how many people live there? '.repeat(4),
  temperature: 0.7,
  max_output_tokens: 256,
});

runBenchmark(() => compareAnswers('responses', '/responses', BODY));
