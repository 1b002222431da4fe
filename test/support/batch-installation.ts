import { catalogueOf, type TestModel } from './catalogue';
import type { ApiClient } from './client';
import { Installation, type AppName } from './installation';
import { Upstream, type UpstreamScript } from './upstream';

/** A started Sluice that runs batches, the upstream of all its models, and a client. */
export interface BatchInstallation {
  readonly upstream: Upstream;
  readonly installation: Installation;
  readonly client: ApiClient;
  stop(): Promise<void>;
}

export interface BatchInstallationOptions extends Pick<TestModel, 'pricing' | 'batchPricing'> {
  /** A model `tests/<name>` for each. */
  readonly scripts: Readonly<Record<string, UpstreamScript>>;
  readonly environment: Readonly<Record<string, string>>;
  /** Default: one of each app that batches need. */
  readonly apps?: readonly AppName[];
}

export async function startBatchInstallation({
  scripts,
  environment,
  apps = ['auth', 'batch-worker', 'gateway'],
  ...prices
}: BatchInstallationOptions): Promise<BatchInstallation> {
  const upstream = await Upstream.start(scripts);
  try {
    const catalogue = catalogueOf(upstream.models(scripts, prices));
    const installation = await Installation.start({ apps, catalogue, environment });
    const client = installation.client();
    const stop = async (): Promise<void> => {
      await client.close();
      await installation.stop();
      await upstream.stop();
    };
    return { upstream, installation, client, stop };
  } catch (error) {
    await upstream.stop();
    throw error;
  }
}
