import type { Endpoint } from '../../catalogue/catalogue';
import { numberOf, objectOf } from '../../json/loose-values';

/** From here on a model is told how deeply to think in words, and takes proof of its thoughts with every call. */
export const THIRD_GENERATION = 3;
/** The first that thinks. */
export const THINKING_GENERATION = 2.5;

const GEMINI = /\bgemini-(\d{1,2}(?:\.\d{1,2})?)?/;

/**
 * The generation of a Gemini model, e.g. 2.5, which decides what the upstream takes beside the prompt; 0 for
 * models of other families. It is read from the upstream's name of the model; where that does not tell, as for
 * tuned models, the catalogue does: `capabilities: { generate_content: { generation: 3 } }`.
 */
export function generationOf({ capabilities, upstreamModel }: Endpoint): number {
  const declared = numberOf(objectOf(capabilities['generate_content'])['generation']);
  if (declared !== undefined) return declared;
  const name = GEMINI.exec(upstreamModel);
  if (name === null) return 0;
  // A name without a number, such as gemini-flash-latest, stands for the newest.
  return name[1] === undefined ? THIRD_GENERATION : Number(name[1]);
}
