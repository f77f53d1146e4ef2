import { isIP } from 'node:net';

/** Whether an address reaches this machine alone. */
export function isLoopback(address: string): boolean {
  return /^(127\.|::1$|::ffff:127\.|localhost$)/.test(address);
}

/**
 * Whether a `Host` header names an address, or this machine itself. Any other name may be one that a page elsewhere has
 * pointed at this machine, so that browsers take it for the page's own server (DNS rebinding).
 */
export function isAddressOrLocalhost(host = ''): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0 || /(^|\.)localhost$/.test(hostname);
}
