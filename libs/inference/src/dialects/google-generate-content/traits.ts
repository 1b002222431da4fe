import { numberOf, objectOf } from '@libs/json';
import type { Endpoint } from '../../catalogue/catalogue';

/** From this generation on, thinking is set by a level, and every tool call must carry its thought signature. */
export const THIRD_GENERATION = 3;
/** The first generation that thinks. */
export const THINKING_GENERATION = 2.5;

const GEMINI = /\bgemini-(\d{1,2}(?:\.\d{1,2})?)?/;

/**
 * Returns the generation of a Gemini model, e.g. 2.5, which decides which settings the upstream takes; 0 for
 * other families. It is read from the upstream's name of the model. For names without it, such as those of
 * tuned models, the catalogue has it: `capabilities: { generate_content: { generation: 3 } }`.
 */
export function generationOf({ capabilities, upstreamModel }: Endpoint): number {
  const declared = numberOf(objectOf(capabilities['generate_content'])['generation']);
  if (declared !== undefined) return declared;
  const name = GEMINI.exec(upstreamModel);
  if (name === null) return 0;
  // A name without a number, such as gemini-flash-latest, is the newest model.
  return name[1] === undefined ? THIRD_GENERATION : Number(name[1]);
}
