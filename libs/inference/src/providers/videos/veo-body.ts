import { defined, type JsonObject } from '@libs/json';
import type { VideoMedia, VideoRequest } from '../../videos/video-provider';

/** Returns the parts of a Veo request that both of Google's APIs share: all except an earlier video to continue. */
export function veoBody(request: VideoRequest): { instance: JsonObject; parameters: JsonObject } {
  const instance = defined({
    prompt: request.prompt ?? undefined,
    image: request.firstFrame ? inline(request.firstFrame) : undefined,
    lastFrame: request.lastFrame ? inline(request.lastFrame) : undefined,
    referenceImages:
      request.references.length === 0
        ? undefined
        : request.references.map((image) => ({ image: inline(image), referenceType: 'asset' })),
  });
  const parameters = defined({
    ...request.options,
    aspectRatio: request.aspectRatio,
    resolution: request.resolution.toLowerCase(),
    durationSeconds: request.durationSeconds,
    seed: request.seed ?? undefined,
  });
  return { instance, parameters };
}

function inline({ mediaType, data }: VideoMedia): object {
  return { bytesBase64Encoded: data, mimeType: mediaType };
}
