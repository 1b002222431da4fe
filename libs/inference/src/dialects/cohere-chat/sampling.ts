import { defined } from '@libs/json';
import type { Sampling } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';

/** The bounds within which the upstream takes a value, both included. */
const BOUNDS = {
  temperature: [0, 1],
  top_p: [0.01, 0.99],
  top_k: [0, 500],
  frequency_penalty: [0, 1],
  presence_penalty: [0, 1],
} as const;

const FOREIGN: readonly (readonly [keyof Sampling, string])[] = [
  ['minP', 'min_p'],
  ['topA', 'top_a'],
  ['repetitionPenalty', 'repetition_penalty'],
  ['logitBias', 'logit_bias'],
];

/** Returns the samplers under the upstream's names; values beyond its bounds are cut. */
export function writeSampling(sampling: Sampling, log: LossLog): Readonly<Record<string, unknown>> {
  for (const [name, wireName] of FOREIGN) if (sampling[name] !== undefined) log.drop(wireName);
  const within = (name: keyof typeof BOUNDS, value: number | undefined): number | undefined => {
    if (value === undefined) return undefined;
    const [least, most] = BOUNDS[name];
    const cut = Math.min(Math.max(value, least), most);
    if (cut !== value) log.approximate(name);
    return cut;
  };
  const frequency = within('frequency_penalty', sampling.frequencyPenalty);
  const presence = within('presence_penalty', sampling.presencePenalty);
  // Returns whether both penalties are set: the provider accepts only one. A penalty of 0 does not count.
  const isDoubled = Boolean(frequency) && Boolean(presence);
  if (isDoubled) log.drop('presence_penalty');
  return defined({
    temperature: within('temperature', sampling.temperature),
    p: within('top_p', sampling.topP),
    k: within('top_k', sampling.topK),
    frequency_penalty: frequency === 0 ? undefined : frequency,
    presence_penalty: presence === 0 || isDoubled ? undefined : presence,
    seed: sampling.seed,
  });
}
