import {
  ofKind,
  selects,
  specOf,
  workloadsOf,
  type LabelSelector,
  type Manifest,
  type Rule,
  type Workload,
} from './manifests';

interface Peer {
  readonly ipBlock?: { cidr: string; except?: readonly string[] };
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
}

interface Way {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly { port?: number | string }[];
}

interface PolicySpec {
  readonly podSelector?: LabelSelector;
  readonly policyTypes?: readonly string[];
  readonly ingress?: readonly Way[];
  readonly egress?: readonly Way[];
}

interface Policy extends PolicySpec {
  readonly name: string;
}

/** The apps that call providers, webhooks, user-supplied URLs or issuers. The vault of keys is not among them. */
const internetApps = ['gateway', 'batch-worker', 'video-worker', 'auth'];
const apps = [...internetApps, 'credentials', 'migrate'];
const closedRanges: Readonly<Record<string, readonly string[]>> = {
  '0.0.0.0/0': ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16'],
  '::/0': ['fc00::/7', 'fe80::/10'],
};

function policiesOf(manifests: readonly Manifest[]): Policy[] {
  return ofKind(manifests, 'NetworkPolicy').map((it) => ({ name: it.metadata.name, ...specOf<PolicySpec>(it) }));
}

/** The pods among the rendered ones that a policy is about. */
function subjectsOf(policy: Policy, manifests: readonly Manifest[]): Workload[] {
  return workloadsOf(manifests).filter(({ labels }) => selects(policy.podSelector, labels));
}

function policyRule(name: string, isBroken: (policy: Policy, manifests: readonly Manifest[]) => boolean): Rule {
  return {
    name,
    broken: (manifests) =>
      policiesOf(manifests)
        .filter((it) => isBroken(it, manifests))
        .map((it) => it.name),
  };
}

/** `name` itself when no policy of the manifests closes this direction for every pod. */
function deniesByDefault(direction: 'Ingress' | 'Egress'): Rule {
  return {
    name: `${direction.toLowerCase()} denied by default`,
    broken: (manifests) => {
      const closed = policiesOf(manifests).some(
        ({ podSelector, policyTypes = [], ingress, egress }) =>
          podSelector !== undefined &&
          Object.keys(podSelector).length === 0 &&
          policyTypes.includes(direction) &&
          (direction === 'Ingress' ? ingress : egress) === undefined,
      );
      return closed ? [] : ['the namespace'];
    },
  };
}

const waysOut = ({ egress = [] }: Policy) => egress;
const waysIn = ({ ingress = [] }: Policy) => ingress;
const blocksOf = (policy: Policy) =>
  waysOut(policy).flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => ipBlock ?? []));
const reachesInternet = (policy: Policy) => blocksOf(policy).some(({ cidr }) => cidr in closedRanges);
const portsOf = (way: Way) => (way.ports ?? []).map(({ port }) => port);

/** The apps of a peer in this namespace; a selector of another namespace meets none of ours, one of all meets them. */
function appsAmong(peers: readonly Peer[], manifests: readonly Manifest[]): string[] {
  const isHere = ({ namespaceSelector: selector }: Peer) =>
    selector === undefined || Object.keys(selector).length === 0;
  return workloadsOf(manifests)
    .filter(({ labels }) => peers.some((it) => isHere(it) && selects(it.podSelector, labels)))
    .map(({ component }) => component)
    .filter((component) => apps.includes(component));
}

export const networkRules: readonly Rule[] = [
  deniesByDefault('Ingress'),
  deniesByDefault('Egress'),
  policyRule('no way out to everywhere', (policy) => waysOut(policy).some(({ to = [] }) => to.length === 0)),
  policyRule('every way names its ports', (policy) => {
    return [...waysOut(policy), ...waysIn(policy)].some((way) => portsOf(way).length === 0);
  }),
  policyRule('no private address from the internet policy', (policy) =>
    blocksOf(policy).some(
      ({ cidr, except = [] }) => !(closedRanges[cidr] ?? []).every((range) => except.includes(range)),
    ),
  ),
  policyRule('https alone to the internet', (policy) => {
    return reachesInternet(policy) && waysOut(policy).some((way) => portsOf(way).some((port) => port !== 443));
  }),
  policyRule('internet for those who need it', (policy, manifests) => {
    return (
      reachesInternet(policy) &&
      subjectsOf(policy, manifests).some(({ component }) => !internetApps.includes(component))
    );
  }),
  policyRule('one public door', (policy, manifests) => {
    const open = waysIn(policy).filter(
      ({ from = [] }) => from.length === 0 || from.some((it) => it.ipBlock !== undefined),
    );
    return (
      open.length > 0 &&
      (open.some((way) => portsOf(way).some((port) => port !== 8080)) ||
        subjectsOf(policy, manifests).some(({ component }) => component !== 'gateway'))
    );
  }),
  policyRule('no way from app to app', (policy, manifests) => {
    const peers = [...waysOut(policy).flatMap(({ to = [] }) => to), ...waysIn(policy).flatMap(({ from = [] }) => from)];
    const own = subjectsOf(policy, manifests).some(({ component }) => apps.includes(component));
    return own && appsAmong(peers, manifests).length > 0;
  }),
  policyRule('a policy meets some pod', (policy, manifests) => subjectsOf(policy, manifests).length === 0),
  {
    name: 'no port on the nodes',
    broken: (manifests) =>
      ofKind(manifests, 'Service')
        .filter((it) => !['ClusterIP', undefined].includes(specOf<{ type?: string }>(it).type))
        .map(({ metadata }) => metadata.name),
  },
];
