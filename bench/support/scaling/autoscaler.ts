import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

interface Policy {
  readonly type: 'Pods' | 'Percent';
  readonly value: number;
  readonly periodSeconds: number;
}

interface Rules {
  readonly stabilizationWindowSeconds: number;
  readonly policies: readonly Policy[];
}

export interface ScalerSettings {
  readonly pollingInterval: number;
  readonly minReplicaCount: number;
  readonly maxReplicaCount: number;
  readonly scaleUp: Rules;
  readonly scaleDown: Rules;
}

interface ScaledObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Omit<ScalerSettings, 'scaleUp' | 'scaleDown'> & {
    readonly advanced: { readonly horizontalPodAutoscalerConfig: { readonly behavior: Record<string, Rules> } };
  };
}

/** The settings that production gives KEDA for a worker. */
export function scalerSettings(file: string, app: string): ScalerSettings {
  const documents = parseAllDocuments(readFileSync(file, 'utf8')) as { toJS(): unknown }[];
  const objects = documents.map((document) => document.toJS() as ScaledObject);
  const found = objects.find(({ kind, metadata }) => kind === 'ScaledObject' && metadata.name === app);
  if (found === undefined) throw new Error(`${file} scales no ${app}`);
  const { spec } = found;
  const { scaleUp, scaleDown } = spec.advanced.horizontalPodAutoscalerConfig.behavior;
  return { ...spec, scaleUp: scaleUp!, scaleDown: scaleDown! };
}

interface Wish {
  readonly second: number;
  readonly replicas: number;
}

/** Applies the rules of a HorizontalPodAutoscaler: bounds, stabilization windows, and policies per period. */
export class Autoscaler {
  private wishes: Wish[] = [];
  private history: Wish[] = [];

  constructor(private readonly settings: ScalerSettings) {}

  /** @returns how many replicas there should be now */
  decide(second: number, wanted: number, current: number): number {
    const { minReplicaCount, maxReplicaCount, scaleDown } = this.settings;
    const wish = Math.max(minReplicaCount, Math.min(maxReplicaCount, wanted));
    const keepFrom = second - scaleDown.stabilizationWindowSeconds;
    this.wishes = [...this.wishes.filter((one) => one.second > keepFrom), { second, replicas: wish }];
    const decided = wish > current ? this.up(second, wish, current) : this.down(second, current);
    this.history = [...this.history.filter((one) => one.second > second - 600), { second, replicas: decided }];
    return decided;
  }

  private up(second: number, wish: number, current: number): number {
    const ceilings = this.settings.scaleUp.policies.map(({ type, value, periodSeconds }) => {
      const then = Math.min(current, ...this.since(second - periodSeconds));
      return type === 'Pods' ? then + value : Math.ceil(then * (1 + value / 100));
    });
    return Math.min(wish, Math.max(current, ...ceilings));
  }

  private down(second: number, current: number): number {
    const highest = Math.max(...this.wishes.map(({ replicas }) => replicas));
    if (highest >= current) return current;
    const floors = this.settings.scaleDown.policies.map(({ type, value, periodSeconds }) => {
      const then = Math.max(current, ...this.since(second - periodSeconds));
      return type === 'Pods' ? then - value : Math.floor(then * (1 - value / 100));
    });
    return Math.max(highest, Math.min(...floors));
  }

  private since(second: number): number[] {
    return this.history.filter((one) => one.second > second).map(({ replicas }) => replicas);
  }
}
