import { Controller, Get } from '@nestjs/common';
import { AcceptsAnyKey } from '../auth/access.decorators';
import { InferenceRouting } from '../routing/inference-routing';

interface ProviderEntry {
  readonly name: string;
  readonly slug: string;
  readonly privacy_policy_url: null;
  readonly terms_of_service_url: null;
  readonly status_page_url: null;
}

/** `GET /providers`, in the order of the catalogue. */
@Controller('providers')
@AcceptsAnyKey()
export class ProvidersController {
  constructor(private readonly routing: InferenceRouting) {}

  @Get()
  list(): { data: readonly ProviderEntry[] } {
    const data = this.routing.catalogue().providers();
    return {
      data: data.map(({ name, slug }) => ({
        name,
        slug,
        privacy_policy_url: null,
        terms_of_service_url: null,
        status_page_url: null,
      })),
    };
  }
}
