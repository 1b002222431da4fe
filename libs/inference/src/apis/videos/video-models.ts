import type { Catalogue, Endpoint, Model } from '../../catalogue/catalogue';
import { readVideoCapabilities } from './video-capabilities';

/**
 * Returns the entries of `GET /videos/models`. Each shows what the first endpoint of the model that makes videos can
 * do.
 */
export function videoModelsOf(catalogue: Catalogue): object[] {
  return catalogue.models().flatMap((model) => {
    const endpoint = model.endpoints.find(({ apis }) => apis.includes('video'));
    return endpoint ? [entryOf(model, endpoint)] : [];
  });
}

function entryOf(model: Model, endpoint: Endpoint): object {
  const can = readVideoCapabilities(endpoint);
  return {
    id: model.slug,
    canonical_slug: model.slug,
    name: model.name,
    created: model.created,
    description: model.description,
    hugging_face_id: model.card.huggingFaceId,
    supported_durations: can.durations,
    supported_resolutions: can.resolutions,
    supported_aspect_ratios: can.aspectRatios,
    supported_sizes: can.sizes,
    supported_frame_images: can.frameImages,
    generate_audio: can.generateAudio,
    seed: can.seed,
    creativity: can.creativity,
    upscale_factor: can.upscaleFactor,
    allowed_passthrough_parameters: can.passthrough,
    pricing_skus: endpoint.listedPricing,
  };
}
