import { ofKind, selects, specOf, workloadsOf, type LabelSelector, type Labels, type Manifest } from './manifests';

/** A pod somewhere in the cluster. */
export interface ClusterPod {
  readonly namespaceLabels: Labels;
  readonly podLabels: Labels;
  readonly port: number;
}

interface Peer {
  readonly namespaceSelector?: LabelSelector;
  readonly podSelector?: LabelSelector;
}

interface EgressPolicy {
  readonly podSelector: LabelSelector;
  readonly egress?: readonly {
    readonly to?: readonly Peer[];
    readonly ports?: readonly { readonly port?: number }[];
  }[];
}

/** Names of the workloads whose policies let them reach a pod of another namespace. */
export function workloadsReaching(
  { namespaceLabels, podLabels, port }: ClusterPod,
  manifests: readonly Manifest[],
): string[] {
  const policies = ofKind(manifests, 'NetworkPolicy').map((policy) => specOf<EgressPolicy>(policy));
  const opens = ({ egress = [] }: EgressPolicy) =>
    egress.some(
      ({ to = [], ports = [] }) =>
        ports.some((each) => each.port === port) &&
        to.some(
          ({ namespaceSelector, podSelector }) =>
            selects(namespaceSelector, namespaceLabels) &&
            (podSelector === undefined || selects(podSelector, podLabels)),
        ),
    );
  return workloadsOf(manifests)
    .filter(({ labels }) => policies.some((policy) => selects(policy.podSelector, labels) && opens(policy)))
    .map(({ name }) => name)
    .toSorted();
}
