// What each program of this folder is asked, and how it reports what it saw: one line of JSON.
const [, , baseUrl, key, model, task, ...more] = process.argv;

export const asked = { baseUrl, key, model, task, kind: more[0] };
export const PROMPTS = {
  stream: 'Say hello, please.',
  tool: 'What is the weather in Paris?',
  cut: 'Count until you break.',
  'wrong-key': 'Say hello, please.',
};
export const prompt = PROMPTS[task];
export const weatherOf = ({ city }) => `${city === 'Paris' ? '18 degrees and rain' : 'unknown'}`;

/** Runs the task, which returns the text of the answer in its pieces. */
export async function report(run) {
  const pieces = [];
  let result;
  try {
    await run(pieces);
    result = { pieces, error: null };
  } catch (error) {
    result = { pieces, error: `${error?.name ?? ''}: ${error?.message ?? String(error)}` };
  }
  console.log(JSON.stringify(result));
  process.exit(0);
}
