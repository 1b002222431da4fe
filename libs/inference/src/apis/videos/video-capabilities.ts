import { isObject, numberOf, objectOf, stringOf } from '@libs/json';
import type { Endpoint } from '../../catalogue/catalogue';

/** The `capabilities.video` of an endpoint. A list that is null allows every value. */
export interface VideoCapabilities {
  /** Seconds. */
  readonly durations: readonly number[] | null;
  readonly resolutions: readonly string[] | null;
  readonly aspectRatios: readonly string[] | null;
  /** `WIDTHxHEIGHT`. */
  readonly sizes: readonly string[] | null;
  readonly generateAudio: boolean;
  readonly frameImages: readonly string[];
  /** Kinds of references: image, audio, video. */
  readonly references: readonly string[];
  readonly continuation: boolean;
  readonly seed: boolean;
  /** Members of `provider.options` that may be sent. */
  readonly passthrough: readonly string[];
  /** True if the provider treats a repeated submission with the same idempotency key as the same job. */
  readonly idempotentSubmit: boolean;
  /** A first frame is enough, without words. */
  readonly promptOptional: boolean;
  readonly creativity: readonly number[] | null;
  readonly upscaleFactor: { readonly min: number | null; readonly max: number | null } | null;
}

export function readVideoCapabilities({ capabilities }: Endpoint): VideoCapabilities {
  const said = objectOf(capabilities['video']);
  const factor = said['upscale_factor'];
  return {
    durations: listOf(said['durations'], numberOf),
    resolutions: listOf(said['resolutions'], stringOf),
    aspectRatios: listOf(said['aspect_ratios'], stringOf),
    sizes: listOf(said['sizes'], stringOf),
    generateAudio: said['generate_audio'] === true,
    frameImages: listOf(said['frame_images'], stringOf) ?? [],
    references: listOf(said['references'], stringOf) ?? [],
    continuation: said['continuation'] === true,
    seed: said['seed'] === true,
    passthrough: listOf(said['passthrough'], stringOf) ?? [],
    idempotentSubmit: said['idempotent_submit'] === true,
    promptOptional: said['prompt_optional'] === true,
    creativity: listOf(said['creativity'], numberOf),
    upscaleFactor: isObject(factor)
      ? { min: numberOf(factor['min']) ?? null, max: numberOf(factor['max']) ?? null }
      : null,
  };
}

function listOf<T>(list: unknown, read: (item: unknown) => T | undefined): readonly T[] | null {
  if (!Array.isArray(list)) return null;
  return list.map(read).filter((item) => item !== undefined);
}
