import { objectOf, stringOf } from '@libs/json';
import type { Endpoint } from '../../catalogue/catalogue';

/** Differences between models of this protocol; in the catalogue under `capabilities: { chat: { … } }`. */
export interface CohereTraits {
  /** `thinking: true`: the model can think, and its earlier thoughts are sent back to it. */
  readonly canThink: boolean;
  /** `safety_mode: STRICT`, `CONTEXTUAL` or `OFF`; absent: the provider's default. */
  readonly safetyMode: string | undefined;
  /** `tool_choice: false`: calls cannot be forced; the model decides itself whether it calls a tool. */
  readonly canBeMadeToCall: boolean;
}

export function traitsOf({ capabilities }: Endpoint): CohereTraits {
  const chat = objectOf(capabilities['chat']);
  return {
    canThink: chat['thinking'] === true,
    safetyMode: stringOf(chat['safety_mode']),
    canBeMadeToCall: chat['tool_choice'] !== false,
  };
}
