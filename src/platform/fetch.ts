/** `fetch` of undici: Node's own would use the environment's proxy for loopback too, or not at all. */
import { Agent, fetch, type RequestInit } from 'undici';
import { throughProxy } from './proxy.ts';

export const fetchThroughProxy = (url: string, init: RequestInit) =>
  fetch(url, { ...init, dispatcher: throughProxy() });

export const fetchDirectly = (url: string, init: RequestInit) =>
  fetch(url, { ...init, dispatcher: new Agent() });
