export { home } from '../home/home';
